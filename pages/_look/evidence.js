/* The evidence of a run as cards: rank, where it stands, the text, every score, the page with its box lit. */

import { h, marked, shortName } from "./dom.js";
import { litBoxes, pageAddress, pagePicture } from "./picture.js";
import { heldUp, tell } from "./runs.js";
import { rebuiltTable } from "./table.js";

export const THUMBNAIL_DPI = 30;
const LONG_TEXT = 420;
const MANY_LINES = 5;
const SCORES = [["dense", "dense", 1], ["lexical", "words", null], ["fused", "fused", 1]];

/** Draw all cards of a view. */
export function evidenceCards(view, question) {
  if (!view.evidence.length) {
    return [h("p", { class: "nothing" }, view.status === "running" ? "What is found is shown here before the answer." : "Nothing was found.")];
  }
  const held = heldUp(view);
  const most = greatest(view.evidence);
  return view.evidence.map((hit, at) => card(hit, at + 1, held.get(hit.chunk.id), most, question, view.id));
}

/** The greatest of each score: what a score without an upper end is drawn against. */
function greatest(hits) {
  const most = new Map();
  for (const { scores } of hits) for (const [name, value] of Object.entries(scores)) most.set(name, Math.max(most.get(name) ?? 0, value));
  return most;
}

function card(hit, rank, sentences, most, question, run) {
  const { chunk } = hit;
  const page = chunk.places[0]?.page;
  const open = () => tell("cite", { run, chunk: chunk.id });
  const where = [page && `p. ${page}`, chunk.section.join(" › "), chunk.kind].filter(Boolean).join(" · ");
  return h("article", { class: "card ev", "data-chunk": chunk.id, "aria-label": `Evidence ${rank}: ${chunk.name}` },
    h("div", { class: "rank" }, String(rank)),
    h("div", { class: "body" },
      h("div", { class: "row" }, h("h3", { title: chunk.name }, shortName(chunk.name)), h("small", { class: "where", title: where }, where)),
      chunk.caption && h("p", { class: "caption" }, marked(chunk.caption, question)),
      content(chunk, question),
      h("div", { class: "scores" }, scoresOf(hit, most)),
      sentences && h("small", { class: "holds" }, `holds up sentence ${sentences.join(" and ")}`)),
    page && h("button", { type: "button", class: "bare thumb", title: `Open page ${page}`, onclick: open, "aria-label": `Open ${chunk.name}, page ${page}` },
      pagePicture({ document: chunk.document, page, dpi: THUMBNAIL_DPI, boxes: litBoxes(chunk, page), alt: "", lazy: true })));
}

function content(chunk, question) {
  const table = chunk.kind === "table" && chunk.html ? rebuiltTable(chunk.html) : null;
  if (table) return table;
  const parts = [];
  if (chunk.image) {
    parts.push(h("img", { class: "crop", loading: "lazy", alt: chunk.caption || "Figure", src: `/v1/documents/${encodeURIComponent(chunk.document)}/figures/${encodeURIComponent(chunk.image)}` }));
  }
  const lines = chunk.text.replace(/\s*\n\s*/g, "\n").trim();
  const text = h("p", { class: "words" }, marked(lines, question));
  parts.push(text);
  if (lines.length > LONG_TEXT || lines.split("\n").length > MANY_LINES) {
    text.classList.add("cut");
    parts.push(h("button", { type: "button", class: "bare more", "aria-expanded": "false", onclick: ({ currentTarget }) => {
      const cut = text.classList.toggle("cut");
      currentTarget.textContent = cut ? "all of it" : "less";
      currentTarget.setAttribute("aria-expanded", String(!cut));
    } }, "all of it"));
  }
  return parts;
}

function scoresOf({ scores }, most) {
  const usual = SCORES.filter(([name]) => most.has(name));
  const others = [...most.keys()].filter((name) => !SCORES.some(([known]) => known === name)).map((name) => [name, name, null]);
  return [...usual, ...others].map(([name, label, end]) => {
    const value = scores[name];
    if (value === undefined) return h("div", { title: `Not found by ${label}.` }, `${label} –`, h("i", {}));
    const share = Math.max(0, Math.min(1, value / (end ?? (Math.max(most.get(name), 1e-9)))));
    return h("div", {}, `${label} ${value.toFixed(2)}`, h("i", { style: { "--w": `${Math.round(share * 100)}%` } }));
  });
}

/** Have the page of a chunk at hand before it is opened. */
export function fetchAhead(chunk, dpi) {
  const page = chunk?.places[0]?.page;
  if (page) new Image().src = pageAddress(chunk.document, page, dpi);
}
