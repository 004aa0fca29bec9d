/* The evidence of a run as cards: rank and move, where it stands, the text, every score, the page with its box lit. */

import { chunkActions } from "./acts.js";
import { h, marked, outside, plural, shortName } from "./dom.js";
import { litBoxes, pagePicture, readAhead, sourceOf } from "./picture.js";
import { graded, heldUp, origins, relevance, tell, urlOf } from "./runs.js";
import { rebuiltTable } from "./table.js";

export const THUMBNAIL_DPI = 30;
const LONG_TEXT = 420;
const MANY_LINES = 5;
/* A score's name, what it is called here, its upper end (none: the greatest of the run), what it is. */
const SCORES = [
  ["dense", "dense", 1, "How close its meaning is (cosine)."],
  ["lexical", "words", null, "How well its words match (BM25)."],
  ["fused", "fused", 1, "Both, brought together."],
  ["page", "page", 1, "How well its page fits as a whole."],
  ["document", "document", 1, "How well its document fits as a whole."],
  ["image", "picture", 1, "How close what the figure shows is."],
  ["rerank", "rerank", 10, "What the second look gave it, 0 to 10."],
  ["crag", "evaluator", 1, "How relevant corrective retrieval found it."],
  ["isrel", "ISREL", 1, "How relevant reflection found it."],
];
/* Told in words rather than by a bar: the rank before, and the likeness of a remembered question. */
const NO_BARS = new Set(["was", "memory"]);

/** Draw all cards of a view. */
export function evidenceCards(view, question) {
  if (!view.evidence.length) {
    return [h("p", { class: "nothing" }, view.status === "running" ? "What is found is shown here before the answer." : "Nothing was found.")];
  }
  const told = { view, question, held: heldUp(view), most: greatest(view.evidence), origin: origins(view), relevant: relevance(view) };
  return [...recalledCards(view), ...view.evidence.map((hit, at) => card(hit, at + 1, told))];
}

/** Answers of before that the run brought back: shown as what they are, never as this run's answer. */
function recalledCards(view) {
  const recalled = view.spans.filter((span) => span.name === "memory").flatMap((span) => span.attributes?.recalled ?? []);
  return recalled.map(({ question, answer, similarity }) => h("article", { class: "card recalled", "aria-label": "A good answer of before" },
    h("div", { class: "row" }, h("h3", {}, "Answered well before"), h("span", { class: "chip on end" }, `◷ question ${similarity.toFixed(2)} alike`)),
    h("p", {}, h("q", { dir: "auto" }, question)), h("p", { class: "words cut", dir: "auto" }, answer),
    h("small", {}, "You marked this answer good. It is evidence here, not the answer.")));
}

/** The greatest of each score: what a score without an upper end is drawn against. */
function greatest(hits) {
  const most = new Map();
  for (const { scores } of hits) for (const [name, value] of Object.entries(scores)) if (!NO_BARS.has(name)) most.set(name, Math.max(most.get(name) ?? 0, value));
  return most;
}

function card(hit, rank, { view, question, held, most, origin, relevant }) {
  const { chunk } = hit;
  const page = chunk.places[0]?.page;
  const url = urlOf(chunk);
  const sentences = held.get(chunk.id);
  const open = () => tell("cite", { run: view.id, chunk: chunk.id });
  const where = [page && `p. ${page}`, chunk.section.join(" › "), url ? "web" : chunk.kind].filter(Boolean).join(" · ");
  const said = [origin.get(chunk.id)?.words, sentences && `holds up sentence ${sentences.join(" and ")}`].filter(Boolean);
  return h("article", { class: `card ev ${page ? "" : "bare-page"}`, "data-chunk": chunk.id, "aria-label": `Evidence ${rank}: ${chunk.name}` },
    h("div", { class: "rank" }, String(rank), moveOf(hit, rank, origin.get(chunk.id))),
    h("div", { class: "body" },
      h("div", { class: "row title" }, h("h3", { title: chunk.name, dir: "auto" }, shortName(chunk.name)), h("small", { class: "where", title: where }, where), marksOf(hit, relevant.get(chunk.id))),
      url && h("p", { class: "url" }, outside(url)),
      chunk.caption && h("p", { class: "caption", dir: "auto" }, marked(chunk.caption, question)),
      content(chunk, question),
      hit.refined && hit.refined !== chunk.text && h("details", { class: "refined" }, h("summary", {}, `Refined to ${plural(hit.refined.split(/\s+/).length, "word")}`), h("p", { dir: "auto" }, hit.refined)),
      h("div", { class: "scores" }, scoresOf(hit, most)),
      said.length > 0 && h("small", { class: "holds" }, said.join(" · "))),
    chunkActions(view, chunk, relevant.get(chunk.id)),
    page && h("button", { type: "button", class: "bare thumb", title: `Open page ${page}`, onclick: open, "aria-label": `Open ${chunk.name}, page ${page}` },
      pagePicture({ document: chunk.document, page, dpi: THUMBNAIL_DPI, boxes: litBoxes(chunk, page), alt: "", lazy: true })));
}

/** How far a chunk came: up or down from where the first search had it, or new with a later one. */
function moveOf({ scores }, rank, origin) {
  if (origin?.later) return h("small", { class: "move new", title: `It was not among the first hits; ${origin.words}.` }, "＋ new");
  const before = scores.was ?? origin?.rank;
  if (before === undefined) return null;
  const path = [scores.was !== undefined && `${scores.was}. before the second look`, origin && `${origin.rank}. of ${origin.step}`, `${rank}. now`].filter(Boolean).join(", ");
  const moved = before - rank;
  if (!moved) return h("small", { class: "move", title: path }, "＝");
  return h("small", { class: `move ${moved > 0 ? "up" : "down"}`, title: path, "aria-label": `${moved > 0 ? "up" : "down"} ${Math.abs(moved)}` }, `${moved > 0 ? "▲" : "▼"} ${Math.abs(moved)}`);
}

function marksOf({ scores }, relevant) {
  return h("span", { class: "row end" },
    scores.memory !== undefined && h("span", { class: "chip on", title: "A good answer to a similar question cites it." }, `◷ remembered ${scores.memory.toFixed(2)}`),
    relevant && h("span", { class: `chip ${relevant.grade}` }, `${graded[relevant.grade]} ${relevant.words} ${relevant.probability.toFixed(2)}`));
}

function content(chunk, question) {
  const table = chunk.kind === "table" && chunk.html ? rebuiltTable(chunk.html) : null;
  if (table) return table;
  const parts = [];
  const crop = chunk.image && sourceOf(`/v1/documents/${encodeURIComponent(chunk.document)}/figures/${encodeURIComponent(chunk.image)}`);
  if (crop) parts.push(h("img", { class: "crop", loading: "lazy", alt: chunk.caption || "Figure", src: crop }));
  const lines = chunk.text.replace(/\s*\n\s*/g, "\n").trim();
  const text = h("p", { class: "words", dir: "auto" }, marked(lines, question));
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
  const others = [...most.keys()].filter((name) => !SCORES.some(([known]) => known === name)).map((name) => [name, name, null, ""]);
  return [...usual, ...others].map(([name, label, end, what]) => {
    const value = scores[name];
    if (value === undefined) return h("div", { title: `${what} It has none.` }, `${label} –`, h("i", {}));
    const share = Math.max(0, Math.min(1, value / (end ?? (Math.max(most.get(name), 1e-9)))));
    return h("div", { title: what }, `${label} ${value.toFixed(2)}`, h("i", { style: { "--w": `${Math.round(share * 100)}%` } }));
  });
}

/** Have the page of a chunk at hand before it is opened. */
export function fetchAhead(chunk, dpi) {
  const page = chunk?.places[0]?.page;
  if (page) readAhead(chunk.document, page, dpi);
}
