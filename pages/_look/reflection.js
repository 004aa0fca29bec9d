/* Reflection: every sentence against every chunk, and how relevant and useful all of it was found. */

import { h, shortName } from "./dom.js";
import { citedChunks, graded, numbers, relevance, tell } from "./runs.js";

const SUPPORT = {
  fully_supported: { grade: "full", words: "fully" },
  partially_supported: { grade: "part", words: "partially" },
  no_support: { grade: "none", words: "no support" },
  contradicted: { grade: "none", words: "against" },
};
const WEAK = 0.35; // a cell below it says nothing for a sentence, nor against it

const reflections = (view) => view.spans.filter((span) => span.name === "self_rag").map(({ attributes }) => attributes ?? {});

export const hasReflection = (view) => view.sentences.some((sentence) => sentence.support) || reflections(view).length > 0;

/** Draw the matrix of the answer's sentences and the chunks; a cell opens the page. */
export function reflection(view) {
  const all = reflections(view);
  const told = { matrix: [], ...Object.assign({}, ...all), notes: [...new Set(all.map(({ note }) => note).filter(Boolean))] };
  // What was written from one chunk is told again with every segment after it.
  const segments = new Map(all.flatMap(({ candidates = [] }) => candidates).map((one) => [`${one.chunk} ${one.text}`, one]));
  return [matrix(view, told), issues(view), candidates(view, [...segments.values()])].filter(Boolean);
}

function matrix(view, { matrix: judged, isuse, critic, notes }) {
  const rank = numbers(view);
  const known = new Map(view.evidence.map((hit) => [hit.chunk.id, hit.chunk]));
  const relevant = relevance(view);
  const ids = [...new Set([...judged.map(({ chunk }) => chunk), ...citedChunks(view)])].filter((id) => rank.has(id)).sort((one, other) => rank.get(one) - rank.get(other));
  const cells = new Map(judged.map((one) => [`${placeOf(view, one.sentence)} ${one.chunk}`, one]));
  const head = h("tr", {}, h("th", { scope: "col" }, "Sentence"), ids.map((id) => h("th", { scope: "col", class: "mid", title: known.get(id).name }, columnName(known.get(id), rank.get(id)))), h("th", { scope: "col", title: "ISSUP: does what is cited say it?" }, "supported"));
  const rows = view.sentences.map((sentence, at) => h("tr", {}, h("th", { scope: "row", dir: "auto", title: sentence.text }, h("span", {}, sentence.text)),
    ids.map((id) => h("td", { class: "mid" }, cell(view, sentence, id, rank.get(id), cells.get(`${at} ${id}`)))), h("td", {}, supportOf(sentence))));
  const last = relevant.size > 0 && h("tr", { class: "isrel" }, h("th", { scope: "row" }, "ISREL"),
    ids.map((id) => h("td", { class: "mid" }, relevant.has(id) && h("span", { class: `cell ${relevant.get(id).grade}`, title: relevant.get(id).words }, point(relevant.get(id).probability)))), h("td", {}));
  return h("section", { class: "card matrix", "aria-label": "Reflection" },
    h("div", { class: "row head" }, h("h2", {}, "Reflection"), h("small", {}, "sentences against chunks; an outlined cell is cited"), h("span", { class: "row end" }, isuse && useOf(isuse), critic && h("span", { class: "chip" }, `critic: ${critic}`))),
    notes.map((note) => h("p", { class: "small" }, note)),
    h("div", { class: "tablebox" }, h("table", {}, h("thead", {}, head), h("tbody", {}, rows, last))));
}

/* A sentence is named by its place in the answer, from 0, or by its text. */
const placeOf = (view, sentence) => (typeof sentence === "number" ? sentence : view.sentences.findIndex(({ text }) => text === sentence));

const columnName = (chunk, rank) => [h("b", {}, `${rank} `), h("span", {}, shortName(chunk.name)), chunk.places[0] && ` p.${chunk.places[0].page}`];

function cell(view, sentence, id, rank, judged) {
  const cited = sentence.citations.includes(id);
  if (!judged && !cited) return null;
  const support = judged?.support ?? sentence.support;
  const probability = judged?.probability ?? sentence.probability;
  const { grade, words } = SUPPORT[support] ?? { grade: "", words: "not checked" };
  const weak = support === "no_support" && (probability ?? 0) < WEAK;
  return h("button", {
    type: "button", class: `cell ${weak ? "" : grade} ${cited ? "cited" : ""}`, title: words,
    "aria-label": `Chunk ${rank}, ${words}${typeof probability === "number" ? ` ${point(probability)}` : ""}${cited ? ", cited" : ""}: open its page`, onclick: () => tell("cite", { run: view.id, chunk: id }),
  }, support === "contradicted" && h("small", {}, "against "), typeof probability === "number" ? point(probability) : graded[grade] ?? "·");
}

function supportOf(sentence) {
  const { grade, words } = SUPPORT[sentence.support] ?? { grade: "", words: "not checked" };
  const sure = typeof sentence.probability === "number" ? sentence.probability.toFixed(2) : "";
  return h("span", { class: `chip ${grade}` }, `${graded[grade] ?? ""} ${words} ${sure}`);
}

function useOf({ value, probabilities }) {
  const grade = value >= 4 ? "full" : value >= 3 ? "part" : "none";
  const each = Object.entries(probabilities ?? {}).map(([name, probability]) => `${Array.isArray(probabilities) ? Number(name) + 1 : name}: ${probability.toFixed(2)}`).join(", ");
  return h("span", { class: `chip ${grade}`, title: each || null }, `ISUSE ${value} of 5`);
}

const issues = (view) => (view.issues ?? []).length > 0 && h("ul", { class: "issues" }, view.issues.map((issue) => h("li", { dir: "auto" }, issue)));

/** One segment was written from each relevant chunk; the best stayed. */
function candidates(view, all) {
  if (!all.length) return null;
  const rank = numbers(view);
  return h("section", { class: "card strips", "aria-label": "Segments" }, h("div", { class: "row head" }, h("h2", {}, "Segments"), h("small", {}, "one from each relevant chunk, the best kept")),
    h("ol", {}, all.map(({ text, score, kept, why, chunk }) => h("li", { class: kept ? "full" : "dropped" },
      h("span", { class: "num" }, score.toFixed(2)), h("span", { class: "hidden" }, kept ? "kept: " : "dropped: "), h("span", { class: "words", dir: "auto" }, text), h("small", {}, [rank.has(chunk) && `chunk ${rank.get(chunk)}`, why].filter(Boolean).join(" · "))))));
}

const point = (probability) => (probability >= 0.995 ? "1.0" : probability.toFixed(2).replace(/^0/, ""));
