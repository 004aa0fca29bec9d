/* Reflection: which chunk holds up which sentence, and how well. */

import { h } from "./dom.js";
import { citedChunks, numbers, tell } from "./runs.js";

const SIGNS = { fully_supported: ["●", "full", "supported"], partially_supported: ["◐", "part", "partly"], no_support: ["○", "none", "no support"] };

export const hasReflection = (view) => view.sentences.some((sentence) => sentence.support);

/** Draw sentences x cited chunks; a cell opens the page. */
export function reflection(view) {
  const rank = numbers(view);
  const chunks = citedChunks(view).filter((id) => rank.has(id)).sort((a, b) => rank.get(a) - rank.get(b));
  const head = h("tr", {}, h("th", { scope: "col" }, "Sentence"), h("th", { scope: "col" }, "Support"),
    chunks.map((id) => h("th", { scope: "col", class: "mid" }, `[${rank.get(id)}]`)));
  const rows = view.sentences.map((sentence, at) => {
    const [sign, grade, words] = SIGNS[sentence.support] ?? ["", "", "not checked"];
    const sure = typeof sentence.probability === "number" ? ` ${sentence.probability.toFixed(2)}` : "";
    return h("tr", {}, h("td", {}, h("b", {}, `${at + 1} `), sentence.text), h("td", {}, h("span", { class: `chip ${grade}` }, `${sign} ${words}${sure}`)),
      chunks.map((id) => h("td", { class: "mid" }, sentence.citations.includes(id) &&
        h("button", { type: "button", class: `cell ${grade}`, "aria-label": `Chunk ${rank.get(id)}, ${words}: open its page`, onclick: () => tell("cite", { run: view.id, chunk: id }) }, sign || "●"))));
  });
  return [h("div", { class: "card matrix" }, h("div", { class: "tablebox" }, h("table", {}, h("thead", {}, head), h("tbody", {}, rows)))),
    (view.issues ?? []).length > 0 && h("ul", { class: "issues" }, view.issues.map((issue) => h("li", {}, issue)))].filter(Boolean);
}
