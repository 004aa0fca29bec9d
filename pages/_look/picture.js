/* A page of a document with boxes lit on it. */

import { h, svg } from "./dom.js";

const POINTS_AN_INCH = 72;
const TAG_SIZE = 9;
const TAG_WIDTH = 5;

/* What a page is drawn at when it is read; the same everywhere, so that it is drawn once. */
export const PAGE_DPI = 110;

const addressOf = (document, page) => `/v1/documents/${encodeURIComponent(document)}/pages/${page}.png`;
export const pageAddress = (document, page, dpi) => `${addressOf(document, page)}?dpi=${dpi}`;

/* In a run that was saved as a file: its pictures by their addresses, {src, dpi}; nothing is asked of a server there. */
let held = null;
export const holdPictures = (pictures) => { held = new Map(Object.entries(pictures)); };

/** What an <img> shows for an address; null where a saved run does not hold it. */
export const sourceOf = (address) => (held ? held.get(address)?.src ?? null : address);

/** A page as {src, dpi}, or {reason} where there is none. A page that is read needs its own picture, not its thumbnail. */
function pageSource(document, page, dpi) {
  if (!held) return { src: pageAddress(document, page, dpi), dpi };
  const found = held.get(addressOf(document, page));
  return found && found.dpi * 2 > dpi ? found : { reason: found ? "Of this page the file holds a small picture only." : "The file holds no picture of this page." };
}

/** Have a page at hand before it is shown. */
export function readAhead(document, page, dpi) {
  if (!held) new Image().src = pageAddress(document, page, dpi);
}

/** The picture of a page at `dpi`, with `boxes` [{box, class, label?, tag?}] drawn over it in points of the page.
    A box with a label can be reached by keys; `size` {width, height} in points keeps its place until the picture is there.
    `instead` is what stands under the reason where there is no picture. */
export function pagePicture({ document, page, dpi, boxes, alt, lazy = false, blurred = null, size = null, instead = null }) {
  const source = pageSource(document, page, dpi);
  if (source.reason) return without(h("div", { class: "page" }), source.reason, lazy, instead);
  const reached = boxes.some(({ label }) => label);
  const overlay = svg("svg", { class: "boxes", preserveAspectRatio: "none", ...(reached ? { role: "group", "aria-label": "What was read" } : { "aria-hidden": "true" }) }, boxes.flatMap(drawnBox));
  const image = h("img", { alt, class: "pixels", loading: lazy ? "lazy" : null, decoding: "async" });
  const frame = h("div", { class: "page" }, image, overlay);
  const fit = (width, height) => overlay.setAttribute("viewBox", `0 0 ${width} ${height}`);
  if (size) {
    fit(size.width, size.height);
    frame.classList.add("sized");
    frame.style.setProperty("aspect-ratio", `${size.width} / ${size.height}`);
  }
  image.onload = () => {
    frame.classList.add("drawn");
    // The size in points is the picture's size at its resolution, so no extra question is asked of the server.
    if (!size) fit((image.naturalWidth * POINTS_AN_INCH) / source.dpi, (image.naturalHeight * POINTS_AN_INCH) / source.dpi);
  };
  image.onerror = () => reasonOf(image).then((reason) => without(frame, reason, lazy, instead));
  image.setAttribute("src", source.src);
  if (blurred && !held) frame.style.setProperty("background-image", `url("${blurred}")`);
  return frame;
}

/** The frame with the reason in it, or, where it is small, with a word and the reason as its title. */
function without(frame, reason, small, instead) {
  frame.classList.add("gone");
  frame.style.removeProperty("background-image");
  frame.replaceChildren(h("small", { class: "nopicture", title: small ? reason : null }, small ? "no picture" : reason), ...(instead ? [instead] : []));
  return frame;
}

/** Why there is no picture, in the server's words: the document may be gone, or its page not be drawable. */
async function reasonOf(image) {
  const told = await fetch(image.getAttribute("src")).then((answer) => (answer.ok ? null : answer.json())).catch(() => null);
  return told?.error ?? "no picture of this page";
}

function drawnBox({ box, class: kind, label, tag }) {
  const rect = svg("rect", {
    class: kind, x: box.x0, y: box.y0, width: Math.max(0, box.x1 - box.x0), height: Math.max(0, box.y1 - box.y0), rx: 2,
    ...(label ? { role: "img", "aria-label": label, tabindex: "-1" } : {}),
  });
  if (!tag) return [rect];
  const top = Math.max(0, box.y0 - TAG_SIZE - 2);
  const width = tag.length * TAG_WIDTH + 5;
  // At the right, where the line above a box seldom reaches.
  const left = Math.max(box.x0, box.x1 - width);
  return [rect, svg("g", { class: `tag ${kind}`, "aria-hidden": "true" },
    svg("rect", { x: left, y: top, width, height: TAG_SIZE + 2, rx: 1.5 }),
    svg("text", { x: left + 2.5, y: top + TAG_SIZE - 0.3, "font-size": TAG_SIZE }, tag))];
}

/** Where a chunk stands on a page, as boxes to light. */
export const litBoxes = (chunk, page, kind = "lit") =>
  (chunk.places.find((place) => place.page === page)?.boxes ?? []).map((box) => ({ box, class: kind }));
