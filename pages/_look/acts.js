/* Small actions that branch a run, where the thing to edit stands. A view says with `forks` that somebody hears them. */

import { h } from "./dom.js";
import { labelOf, tell } from "./runs.js";

const over = (view) => view.forks && view.status !== "running";

/** What branches a run before a step: drawn beside the step's lane, which is `element`. */
export function stepAction(view, spans, element) {
  if (!over(view) || (spans[0].parent_id ?? null) !== null) return element;
  const button = h("button", {
    type: "button", class: "btn act", "data-key": `branch-${spans[0].span_id}`, "aria-label": `Branch from here: before ${labelOf(view, spans[0].name)}`,
    onclick: () => tell("branch", { run: view.id, span: spans[0].span_id }),
  }, "Branch from here");
  return h("div", { class: "with-act" }, element, button);
}

/** What can be done with a chunk of the evidence. */
export function chunkActions(view, chunk, judged) {
  if (!over(view)) return null;
  const act = (label, title, edit) => h("button", { type: "button", class: "btn act", title, onclick: () => tell("fork", { run: view.id, edit: { chunk: chunk.id, ...edit } }) }, label);
  const relevant = judged?.grade === "full";
  return h("div", { class: "acts", role: "group", "aria-label": "Branch with this chunk" },
    act("Pin", "A branch in which it stays, before all else", { kind: "pin" }), act("Drop", "A branch without it", { kind: "drop" }),
    judged && act(relevant ? "Not relevant" : "Relevant", `A branch in which it counts as ${relevant ? "not relevant" : "relevant"}`, { kind: "relevance", relevant: !relevant }));
}

/** What opens the draft of an answer for editing. */
export const draftAction = (view) => over(view) && view.sentences.length > 0 && h("button", { type: "button", class: "btn", title: "Change the answer, and have it checked in a branch", onclick: () => tell("branch", { run: view.id, kind: "draft" }) }, "Edit");

/** What opens the verdict on the evidence for overruling. */
export const verdictAction = (view) => over(view) && h("button", { type: "button", class: "btn end", onclick: () => tell("branch", { run: view.id, kind: "retrieved" }) }, "Overrule");
