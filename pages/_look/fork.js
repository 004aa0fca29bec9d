/* Branches: the tree of a run's, and the one place where a new one is made that needs words. */

import { answerCard } from "./answer.js";
import { h, refocused } from "./dom.js";
import { bus, labelOf, tell } from "./runs.js";

const KINDS = {
  queries: "search for something else", search: "search the documents all the same", retrieved: "overrule the verdict on the evidence",
  draft: "edit the draft", quality: "overrule the self-check", plan: "go on with the plan on the left", again: "do it once more",
};
const VERDICTS = ["correct", "ambiguous", "incorrect"];

/** The tree of a run's branches and what makes a new one, for one run at a time. `act(name, value)` reaches the page. */
export function branching(act) {
  const state = { act, element: h("section", { class: "branching", "aria-label": "Branches" }), view: null, family: null, open: null, said: "" };
  const heard = {
    branch: ({ detail }) => {
      state.from = focusedNow();
      open(state, detail);
    },
    fork: ({ detail }) => send(state, detail),
  };
  for (const [kind, hear] of Object.entries(heard)) bus.addEventListener(kind, hear);
  return {
    element: state.element,
    draw: (view) => see(state, view),
    refused: (problem) => problem && draw(Object.assign(state, { said: problem, sent: false })),
    end: () => { for (const [kind, hear] of Object.entries(heard)) bus.removeEventListener(kind, hear); },
  };
}

function see(state, view) {
  const before = state.view;
  const another = before?.id !== view.id;
  state.view = view;
  if (another) Object.assign(state, { family: null, open: null, said: "", sent: false });
  // What can be edited is known when the run is over.
  if (another || before.status !== view.status) fetchFamily(state, view.id);
  if (another || (ownOf(state) && !state.open)) draw(state);
}

async function fetchFamily(state, id) {
  const family = await fetch(`/v1/runs/${encodeURIComponent(id)}/branches`).then((answer) => (answer.ok ? answer.json() : null)).catch(() => null);
  if (!family || state.view.id !== id) return;
  state.family = family;
  if (state.asked) open(state, state.asked);
  else draw(state);
}

/** Open what makes a branch: before the step of that span, or where something of that kind can be edited. */
function open(state, asked) {
  if (asked.run !== state.view.id) tell("select", { run: asked.run });
  // That may have shown another run, of which nothing is known yet.
  state.asked = state.family && asked.run === state.view.id ? null : asked;
  if (state.asked) return;
  const { offers } = state.family;
  const offer = asked.span !== undefined ? offers.findLast(({ span_id: span }) => span <= asked.span) : offers.find(({ edits }) => edits.some(({ kind }) => kind === asked.kind));
  if (offer) Object.assign(state, { open: { n: offer.n, kind: asked.kind ?? offer.edits[0].kind }, said: "" });
  else Object.assign(state, { open: null, said: offers.length ? "That cannot be edited in this run." : "This run was kept without its steps: ask its question again, and branch from that." });
  draw(state);
  state.element.scrollIntoView({ block: "nearest" });
  // Later: an Enter that opened this would go on into the field, and send it.
  setTimeout(() => {
    const form = state.element.querySelector(".composer");
    (form?.querySelector("textarea, input") ?? form?.querySelector("[name=kind]"))?.focus();
  });
}

/** Close what makes a branch, and go back to where it was opened. */
function close(state) {
  state.open = null;
  draw(state);
  state.from?.focus({ preventScroll: true });
}

/** What has the focus, in whichever component of the page. */
function focusedNow() {
  let at = document.activeElement;
  while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
  return at;
}

function send(state, fork) {
  Object.assign(state, { open: null, said: "The branch is starting…", sent: true, left: state.view.id });
  draw(state);
  state.act("fork", fork);
}

const ownOf = ({ view, family }) => family?.branches.find(({ run }) => run === view.id);

function draw(state) {
  const { view, family, said } = state;
  const branches = family?.branches ?? [];
  const own = ownOf(state);
  const parts = [
    state.open && composer(state),
    branches.length > 0 && tree(state, branches, own),
    own && answerCard(view, state.act),
    h("p", { class: said && !state.sent ? "told problem" : "told", role: "status" }, said),
  ];
  refocused(state.element, () => state.element.replaceChildren(...parts.filter(Boolean)));
  const current = state.left && state.left !== view.id && state.element.querySelector(".tree [aria-current]");
  if (!current) return;
  // What was pressed to leave the other run is gone with it; who has gone on to something else stays there.
  state.left = null;
  if (focusedNow() === document.body) current.focus({ preventScroll: true });
}

/* The tree */

function tree(state, branches, own) {
  const { family, view } = state;
  const under = Map.groupBy(branches, ({ parent }) => parent);
  const name = (run, text) => h("button", {
    type: "button", class: "bare", "data-key": run, "aria-current": run === view.id ? "true" : null, onclick: () => { state.left = view.id; tell("select", { run }); state.act("select", run); },
  }, h("i", { class: "knot", "aria-hidden": "true" }), h("span", { dir: "auto" }, text));
  const nodes = (parent) => under.has(parent) && h("ul", {}, under.get(parent).map(({ run, edited }) => h("li", {}, name(run, edited), nodes(run))));
  return h("div", { class: "card tree" },
    h("div", { class: "row head" }, h("h2", {}, "Branches"), h("small", {}, own ? "what you see is the marked one" : "click one to see it"),
      own && h("button", { type: "button", class: "btn end", onclick: () => state.act("plan", view.id) }, "Save its plan")),
    h("ul", {}, h("li", {}, name(family.root, "as it was asked"), nodes(family.root))));
}

/* What makes a branch */

function composer(state) {
  const { view, family } = state;
  const chosen = state.open;
  const offer = family.offers[chosen.n];
  const edit = offer.edits.find(({ kind }) => kind === chosen.kind) ?? offer.edits[0];
  const change = (what) => { Object.assign(state.open, what); draw(state); };
  const form = h("form", { class: "card composer", "aria-label": "New branch", onsubmit: (event) => {
    event.preventDefault();
    send(state, { run: view.id, step: offer.n, edit: { ...edit, ...read(edit, form) } });
  } },
    h("div", { class: "row head" }, h("h2", {}, "New branch"),
      h("label", {}, h("small", {}, "before"), choice("step", offer.n, family.offers.map(({ n, step }, at) => [n, stepName(view, family.offers, step, at)]), (n) => change({ n: Number(n), kind: null }))),
      h("label", {}, h("small", {}, "and"), choice("kind", edit.kind, offer.edits.map(({ kind }) => [kind, KINDS[kind]]), (kind) => change({ kind })))),
    fieldsOf(edit),
    h("div", { class: "row" }, h("span", { class: "row end" },
      h("button", { type: "button", class: "btn", onclick: () => close(state) }, "Cancel"), h("button", { type: "submit", class: "btn primary" }, "Run the branch"))));
  form.onkeydown = (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    close(state);
  };
  return form;
}

const choice = (name, chosen, options, changed) => h("select", { name, "data-key": name, onchange: ({ currentTarget }) => changed(currentTarget.value) },
  options.map(([value, text]) => h("option", { value, selected: value === chosen }, text)));

/** A step as the timeline calls it, numbered where the run does it more than once. */
function stepName(view, offers, step, at) {
  if (!step) return "the end";
  const same = offers.filter((one) => one.step === step);
  const name = step === "retrieve" ? "search" : labelOf(view, step);
  return same.length > 1 ? `${name} ${offers.slice(0, at + 1).filter((one) => one.step === step).length}` : name;
}

function fieldsOf(edit) {
  if (edit.kind === "queries") return edit.queries.map((query, at) => h("input", { name: "query", dir: "auto", maxlength: 2000, required: true, value: query, "aria-label": edit.queries.length > 1 ? `Sub-question ${at + 1}` : "Query" }));
  if (edit.kind === "draft") return h("textarea", { name: "text", rows: 4, dir: "auto", maxlength: 20000, required: true, "aria-label": "Draft" }, edit.text);
  if (edit.kind === "quality") return h("label", {}, h("small", {}, "self-check, 0 to 1"), h("input", { name: "quality", type: "number", min: 0, max: 1, step: 0.01, required: true, value: edit.quality }));
  if (edit.kind === "retrieved") return h("label", {}, h("small", {}, "the evidence is"), choice("verdict", edit.verdict, VERDICTS.map((one) => [one, one]), () => {}));
  return null;
}

function read(edit, form) {
  if (edit.kind === "queries") return { queries: [...form.querySelectorAll("[name=query]")].map(({ value }) => value) };
  if (edit.kind === "draft") return { text: form.elements.text.value };
  if (edit.kind === "quality") return { quality: Number(form.elements.quality.value) };
  if (edit.kind === "retrieved") return { verdict: form.elements.verdict.value };
  return {};
}
