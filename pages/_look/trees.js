/* What a run used of the tree: the summaries near the question by level, and the evidence under each. */

import { h, plural, shortName } from "./dom.js";
import { numbers, tell } from "./runs.js";

/** The tree searches of a run that found something, or say why not. */
export const treeSpans = (view) => view.spans.filter(({ name, open, attributes }) => name === "raptor" && !open && (attributes?.nodes?.length || attributes?.why));

/** Draw the summaries that a run used, the topmost level first. */
export function usedTree(view) {
  const ranks = numbers(view);
  return treeSpans(view).flatMap(({ attributes: { nodes = [], why } }, at, all) => {
    const levels = [...new Set(nodes.map(({ level }) => level))].sort((a, b) => b - a);
    return [
      all.length > 1 && h("h3", {}, `Search ${at + 1} of the tree`),
      why && h("p", { class: "small" }, why),
      ...levels.flatMap((level) => {
        const here = nodes.filter((node) => node.level === level);
        return [h("h3", {}, `Level ${level}: ${plural(here.length, "summary", "summaries")}`), ...here.map((node) => summary(view, node, ranks))];
      }),
    ];
  }).filter(Boolean);
}

function summary(view, { text, score, document, leaves }, ranks) {
  const held = leaves.filter((id) => ranks.has(id)).sort((a, b) => ranks.get(a) - ranks.get(b));
  const name = view.evidence.find((hit) => hit.chunk.document === document)?.chunk.name;
  const others = leaves.length - held.length;
  return h("article", { class: "card use" },
    h("div", { class: "row" }, h("small", {}, document ? shortName(name ?? "one document") : "over several documents"), h("span", { class: "chip num end", title: "How close it is to the question (cosine)." }, score.toFixed(2))),
    h("p", { dir: "auto" }, text),
    h("div", { class: "row" }, h("small", {}, held.length ? "Under it" : `Under it: ${plural(others, "passage")}, none in the evidence`),
      held.map((id) => h("button", { type: "button", class: "btn rank-of", "aria-label": `Evidence ${ranks.get(id)}`, onclick: () => tell("cite", { run: view.id, chunk: id }) }, String(ranks.get(id)))),
      held.length > 0 && others > 0 && h("small", {}, `and ${plural(others, "passage")} that stayed out`)));
}
