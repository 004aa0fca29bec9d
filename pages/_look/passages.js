/* What was chosen in a graph or a tree: what is said of it, what it is related to, and the passages it comes from. */

import { h, plural, shortName } from "./dom.js";
import { THUMBNAIL_DPI } from "./evidence.js";
import { litBoxes, pagePicture } from "./picture.js";

/** Draw `data`: {title, kind, note, text, actions: [{id, label}], links: [{id, title, says, to}], passages, more, nothing}.
    The page hears `act` (the id of an action), `go` (the id of a link), `open` ({document, page, places}). */
export default function passages({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  if (!data.title) {
    root.replaceChildren(h("p", { class: "nothing" }, data.nothing));
    return;
  }
  root.replaceChildren(
    h("section", { class: "card about", "aria-label": data.title },
      h("div", { class: "row" }, h("h2", { dir: "auto" }, data.title), data.kind && h("span", { class: "chip" }, data.kind)),
      data.note && h("small", {}, data.note),
      data.text && h("p", { class: "said", dir: "auto" }, data.text),
      data.actions.length > 0 && h("div", { class: "row" }, data.actions.map(({ id, label }) => h("button", { type: "button", class: "btn", onclick: () => setTriggerValue("act", id) }, label)))),
    ...(data.links.length ? [links(data, setTriggerValue)] : []),
    ...(data.passages.length ? [h("h3", {}, data.more ? `The first ${plural(data.passages.length, "passage")}` : plural(data.passages.length, "passage")), ...data.passages.map((one) => passage(one, setTriggerValue))] : []));
}

const links = (data, tell) => h("section", { class: "card links", "aria-label": data.linked },
  h("h3", {}, data.linked),
  h("ul", {}, data.links.map(({ id, title, says, evidence }) => h("li", {},
    h("button", { type: "button", class: "bare link", onclick: () => tell("go", id), title: evidence }, says && h("small", {}, says), h("b", { dir: "auto" }, title))))));

function passage(one, tell) {
  const open = () => tell("open", { document: one.document, page: one.page, places: one.places });
  const where = [one.page && `page ${one.page}`, one.section].filter(Boolean).join(" · ");
  return h("article", { class: `card ev ${one.page ? "" : "bare-page"}`, "aria-label": `${one.name}, ${where}` },
    h("div", { class: "body" },
      h("div", { class: "row title" }, h("h3", { title: one.name, dir: "auto" }, shortName(one.name)), h("small", { class: "where" }, where)),
      h("p", { class: "words cut", dir: "auto" }, one.text.replace(/\s*\n\s*/g, "\n").trim() || one.caption),
      h("button", { type: "button", class: "bare more", onclick: open }, one.page ? `Open page ${one.page}` : "Open the document")),
    one.page && h("button", { type: "button", class: "bare thumb", tabindex: "-1", "aria-hidden": "true", onclick: open },
      pagePicture({ document: one.document, page: one.page, dpi: THUMBNAIL_DPI, boxes: litBoxes(one, one.page), alt: "", lazy: true })));
}
