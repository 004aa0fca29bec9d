/* A document, to be looked into: its pages with a box an element, its figures, its chunks. */

import { h, plural } from "./dom.js";
import { pagePicture } from "./picture.js";

const DPI = 110;
/* What a reader calls the kinds, and the colour that each group has. */
const KINDS = [
  ["title", "heading", ["title"]], ["text", "text", ["text", "list", "formula"]], ["table", "table", ["table"]],
  ["figure", "figure", ["figure", "caption"]], ["edge", "header, footer", ["header", "footer", "footnote"]],
];
const groupOf = (kind) => KINDS.find(([, , kinds]) => kinds.includes(kind))?.[0] ?? "text";

/** Draw `data`: {document, name, pages, page, view: "page" | "figures" | "chunks", figures, chunks}. */
export default function reader({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  const state = (root.state ??= { off: new Set() });
  if (state.document !== data.document || state.asked !== data.page) Object.assign(state, { document: data.document, asked: data.page, page: data.page });
  Object.assign(state, { root, data, open: (page) => setTriggerValue("page", page) });
  if (data.view === "figures") root.replaceChildren(gallery(data, state.open));
  else if (data.view === "chunks") root.replaceChildren(...chunkCards(data, state.open));
  else turn(state, state.page);
  return () => (root.state = null);
}

async function turn(state, page) {
  const { data, root } = state;
  state.page = page;
  const answer = await fetch(`/v1/documents/${encodeURIComponent(data.document)}/pages/${page}`).catch(() => null);
  if (state.page !== page || state.data.document !== data.document) return;
  if (!answer?.ok) {
    const problem = await answer?.json().catch(() => null);
    root.replaceChildren(h("p", { class: "small" }, problem?.error ?? "The page could not be fetched; reload to try again."));
    return;
  }
  draw(state, (await answer.json()).elements);
}

function draw(state, elements) {
  const { data, root, page, off } = state;
  const said = h("p", { class: "said", "aria-live": "polite" });
  const boxes = elements.filter((one) => !off.has(groupOf(one.kind))).flatMap((one) => one.place.boxes.map((box) => ({ box, class: `el ${groupOf(one.kind)}`, label: `${one.kind}: ${one.text.slice(0, 300)}`, element: one })));
  const picture = pagePicture({ document: data.document, page, dpi: DPI, boxes, alt: `Page ${page} of ${data.name}` });
  picture.querySelectorAll("rect").forEach((rect, at) => {
    rect.onclick = () => said.replaceChildren(h("b", {}, boxes[at].element.kind), ` ${boxes[at].element.text}`);
  });
  const present = new Set(elements.map((one) => groupOf(one.kind)));
  root.replaceChildren(pager(state), h("div", { class: "row legend", role: "group", "aria-label": "Kinds that are shown" },
    KINDS.filter(([group]) => present.has(group)).map(([group, words]) => h("button", {
      type: "button", class: `chip kind ${group}`, "aria-pressed": String(!off.has(group)),
      onclick: () => { off.has(group) ? off.delete(group) : off.add(group); draw(state, elements); },
    }, h("i", {}), words)), !elements.length && h("small", {}, "Nothing was read on this page.")), picture, said);
}

function pager(state) {
  const { data, page } = state;
  const go = (to) => turn(state, Math.min(data.pages, Math.max(1, to)));
  const field = h("input", { type: "number", min: "1", max: String(data.pages), value: String(page), "aria-label": "Page number", onchange: (event) => go(Number(event.target.value) || page) });
  return h("div", { class: "row pager", onkeydown: (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step && event.target.tagName !== "INPUT") go(page + step);
  } },
  h("button", { type: "button", class: "btn", disabled: page <= 1, "aria-label": "Page before", onclick: () => go(page - 1) }, "‹"),
  h("small", {}, "page"), field, h("small", {}, `of ${data.pages.toLocaleString("en")}`),
  h("button", { type: "button", class: "btn", disabled: page >= data.pages, "aria-label": "Next page", onclick: () => go(page + 1) }, "›"));
}

function gallery(data, open) {
  return h("div", { class: "gallery" }, data.figures.map((one) => h("figure", { class: "card" },
    h("button", { type: "button", class: "bare", onclick: () => open(one.page), "aria-label": `Open page ${one.page}` },
      h("img", { loading: "lazy", alt: one.caption || "Figure", src: `/v1/documents/${encodeURIComponent(data.document)}/figures/${encodeURIComponent(one.image)}` })),
    h("figcaption", {}, h("small", {}, `p. ${one.page}`), one.caption && h("small", {}, ` · ${one.caption}`)))));
}

function chunkCards(data, open) {
  return data.chunks.map((one) => h("article", { class: "card chunk" },
    h("div", { class: "row" }, h("b", {}, String(one.order + 1)), h("small", {}, [one.section, one.kind, plural(one.text.length, "character")].filter(Boolean).join(" · ")),
      one.page && h("button", { type: "button", class: "btn end", onclick: () => open(one.page) }, `p. ${one.page}`)),
    h("p", {}, one.text.replace(/\s*\n\s*/g, "\n"))));
}
