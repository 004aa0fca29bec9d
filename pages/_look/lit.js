/* The page that a citation stands on, with its boxes lit. */

import { h, shortName } from "./dom.js";
import { THUMBNAIL_DPI } from "./evidence.js";
import { litBoxes, PAGE_DPI, pageAddress, pagePicture } from "./picture.js";
import { citedChunks, heldUp, numbers, tell } from "./runs.js";

/** Draw the page of chunk `id`; `page` where another of its pages is to be seen. */
export function litPage(view, id, page) {
  const chunk = view.evidence.find((hit) => hit.chunk.id === id)?.chunk;
  if (!chunk) return [h("p", { class: "nothing" }, "This chunk is not part of the evidence any more.")];
  const rank = numbers(view).get(id);
  const pages = chunk.places.map((place) => place.page);
  if (!pages.length) return [header(view, chunk, rank, null), h("div", { class: "card quote" }, h("p", {}, chunk.text))];
  const shown = pages.includes(page) ? page : pages[0];
  const others = view.evidence.filter((hit) => hit.chunk.id !== id && hit.chunk.document === chunk.document).flatMap((hit) => litBoxes(hit.chunk, shown, "dim"));
  return [
    header(view, chunk, rank, shown),
    pages.length > 1 && h("div", { class: "row" }, h("small", {}, "It goes on over"), pages.map((number) =>
      h("button", { type: "button", class: "btn", "aria-pressed": String(number === shown), onclick: () => tell("cite", { run: view.id, chunk: id, page: number }) }, `page ${number}`))),
    pagePicture({
      document: chunk.document, page: shown, dpi: PAGE_DPI, boxes: [...others, ...litBoxes(chunk, shown)],
      alt: `Page ${shown} of ${chunk.name}, with the cited place lit: ${chunk.text.slice(0, 200)}`, blurred: pageAddress(chunk.document, shown, THUMBNAIL_DPI),
      instead: h("p", { class: "quote", dir: "auto" }, chunk.text),
    }),
  ].filter(Boolean);
}

function header(view, chunk, rank, page) {
  const cited = citedChunks(view);
  const at = cited.indexOf(chunk.id);
  const held = heldUp(view).get(chunk.id);
  const go = (step, label, words) => {
    const next = cited[at + step];
    return h("button", { type: "button", class: "btn", disabled: at < 0 || !next, "aria-label": words, title: words, onclick: () => tell("cite", { run: view.id, chunk: next }) }, label);
  };
  return h("div", { class: "row where-lit" },
    h("h3", {}, `${rank} · ${shortName(chunk.name)}`), page && h("small", {}, `page ${page}`), held && h("small", {}, `holds up sentence ${held.join(" and ")}`),
    h("span", { class: "row end" }, cited.length > 1 && [go(-1, "‹", "Citation before"), go(1, "›", "Next citation")],
      h("button", { type: "button", class: "btn back", onclick: () => tell("back"), title: "Escape" }, "Back")));
}
