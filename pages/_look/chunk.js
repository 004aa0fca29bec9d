/* A chunk of a comparison, over the page: its text, its rank in every column, the page with its box lit. */

import { h, outside } from "./dom.js";
import { citedBy, rankIn, titleOf, whereOf } from "./columns.js";
import { litBoxes, PAGE_DPI, pagePicture } from "./picture.js";
import { rebuiltTable } from "./table.js";
import { urlOf } from "./runs.js";

/** Show chunk `id` in a dialog; Escape closes it, as every dialog. */
export function chunkDialog(dialog, id, shown, { number, chunk: chunks }) {
  const chunk = chunks.get(id);
  const page = chunk.places[0]?.page;
  const url = urlOf(chunk);
  const title = `${number.get(id)} · ${whereOf(chunk)}`;
  dialog.replaceChildren(...[h("div", { class: "row" }, h("h2", {}, title), h("button", { type: "button", class: "btn end", onclick: () => dialog.close() }, "Close")),
    chunk.section.length > 0 && h("small", { dir: "auto" }, chunk.section.join(" › ")), url && h("p", {}, outside(url)),
    h("ul", { class: "ranks" }, shown.map(({ view }, at) => {
      if (!view) return null;
      const rank = rankIn(view, id);
      const score = view.evidence[rank - 1]?.score;
      return h("li", {}, h("b", {}, titleOf(shown.map((one) => one.column), at)), rank ? ` rank ${rank}, score ${score.toFixed(2)}${citedBy(view).has(id) ? ", cited" : ""}` : " not found");
    })),
    (chunk.kind === "table" && chunk.html && rebuiltTable(chunk.html)) || h("p", { class: "passage", dir: "auto" }, chunk.text),
    page && pagePicture({ document: chunk.document, page, dpi: PAGE_DPI, boxes: litBoxes(chunk, page), alt: `Page ${page} of ${chunk.name}, with this place lit` })].filter(Boolean));
  dialog.setAttribute("aria-label", title);
  dialog.showModal();
  dialog.scrollTop = 0;
}
