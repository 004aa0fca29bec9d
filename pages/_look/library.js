/* The documents of a collection: what each holds, how far the work on it is, what can be done. */

import { h } from "./dom.js";

const ACTIONS = { open: "Open", retry: "Retry", password: "Password", delete: "Delete" };

/** Draw `data`: {rows, opened, empty}. A chosen action reaches the page as {action, id}. */
export default function library({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  const focused = root.getRootNode().activeElement?.dataset?.does;
  const act = (action, id) => setTriggerValue("act", { action, id });
  if (!data.rows.length) {
    root.replaceChildren(h("div", { class: "card none-yet" }, h("p", {}, data.empty)));
    return;
  }
  root.replaceChildren(h("ul", { class: "card" }, data.rows.map((row) => drawnRow(row, row.id === data.opened, act))));
  if (focused) root.querySelector(`[data-does="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
}

function drawnRow(row, opened, act) {
  const button = (action) => h("button", {
    type: "button", class: `btn ${action}`, "data-does": `${action}-${row.id}`, onclick: () => act(action, row.id), "aria-label": `${ACTIONS[action]} ${row.name}`,
  }, ACTIONS[action]);
  return h("li", { class: `f ${opened ? "opened" : ""}`, "data-document": row.id },
    h("div", { class: "what" }, h("b", { title: row.name }, row.name), h("small", {}, row.line)),
    h("div", { class: "how" }, row.state ? h("span", { class: `chip ${row.state.grade}` }, `${row.state.sign} ${row.state.words}`) : progress(row)),
    h("div", { class: "act" }, row.pace.length > 0 && h("span", { class: "num" }, row.pace.map((text) => h("span", {}, text))),
      row.actions.map(button)));
}

function progress(row) {
  const now = row.stages.find((stage) => stage.now);
  return [
    h("div", { class: "st", role: "progressbar", "aria-valuemin": "0", "aria-valuemax": "100", "aria-valuenow": String(Math.round((now?.share ?? 0) * 100)), "aria-label": `${row.name}: ${now?.name ?? ""}` },
      row.stages.map((stage) => h("i", { style: { "--done": `${Math.round(stage.share * 100)}%` } }))),
    h("small", {}, row.stages.flatMap((stage, at) => [at > 0 && " · ", stage.now ? h("b", {}, stage.name) : stage.name])),
  ];
}
