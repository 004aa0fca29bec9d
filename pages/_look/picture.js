/* A page of a document with boxes lit on it. */

import { h, svg } from "./dom.js";

const POINTS_AN_INCH = 72;

export const pageAddress = (document, page, dpi) => `/v1/documents/${encodeURIComponent(document)}/pages/${page}.png?dpi=${dpi}`;

/** The picture of a page at `dpi`, with `boxes` [{box, class, label?}] drawn over it in points of the page. */
export function pagePicture({ document, page, dpi, boxes, alt, lazy = false, blurred = null }) {
  const overlay = svg("svg", { class: "boxes", preserveAspectRatio: "none", "aria-hidden": "true" }, boxes.map(drawnBox));
  const image = h("img", { alt, class: "pixels", loading: lazy ? "lazy" : null, decoding: "async" });
  const frame = h("div", { class: "page" }, image, overlay);
  const fit = () => {
    frame.classList.add("drawn");
    // The size in points is the picture's size at its resolution, so no extra question is asked of the server.
    overlay.setAttribute("viewBox", `0 0 ${(image.naturalWidth * POINTS_AN_INCH) / dpi} ${(image.naturalHeight * POINTS_AN_INCH) / dpi}`);
  };
  image.onload = fit;
  image.onerror = () => frame.replaceChildren(h("small", { class: "nopicture" }, "no picture of this page"));
  image.setAttribute("src", pageAddress(document, page, dpi));
  if (blurred) frame.style.setProperty("background-image", `url("${blurred}")`);
  return frame;
}

function drawnBox({ box, class: kind, label }) {
  const rect = svg("rect", { class: kind, x: box.x0, y: box.y0, width: Math.max(0, box.x1 - box.x0), height: Math.max(0, box.y1 - box.y0), rx: 2 });
  if (label) rect.append(svg("title", {}, label));
  return rect;
}

/** Where a chunk stands on a page, as boxes to light. */
export const litBoxes = (chunk, page, kind = "lit") =>
  (chunk.places.find((place) => place.page === page)?.boxes ?? []).map((box) => ({ box, class: kind }));
