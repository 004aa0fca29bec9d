/* Compare: a question, two to four columns that fill at the same time, and under them what each technique bought. */

import { chunkDialog } from "./chunk.js";
import { columnCells, idleCells, sharing } from "./columns.js";
import { capital, h } from "./dom.js";
import { ledgerCard, watchLedger } from "./ledger.js";
import { follow, held, insist } from "./runs.js";

const COUNTED = { 2: "both", 3: "all three", 4: "all four" };

/** Draw `data`: {question, columns: [{plan, engine, collection, documents, run, problem}], stamp, plans: [{name, techniques}], mine,
    engines, collections, labels, always, most, examples, ledger, made, problem, said}. Tells "setup" as it changes; "run" with it,
    "stop" [run], "mine" run, "ledger" run, "unledger" run, "pair" [run, run], "open" run. */
export default function compare({ data, parentElement, setStateValue, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  const state = (root.state ??= { root, views: new Map(), ends: new Map(), compared: new Map(), stopping: new Set(), words: false });
  Object.assign(state, { data, tell: setTriggerValue, keep: setStateValue });
  // What was typed and chosen here since is newer than what comes back of it; what the page gives has another stamp.
  const first = state.stamp === undefined;
  if (data.stamp !== state.stamp) {
    Object.assign(state, { stamp: data.stamp, question: data.question, columns: data.columns.map((column) => ({ ...column, asked: column.run ? said(column) : "" })), compared: new Map() });
    build(state);
    if (first && data.ledger) showLedger(state);
    if (!first) root.scrollIntoView({ block: "start" });
    if (state.paired) state.grid.focus(IN_PLACE);
    state.paired = false;
  }
  sentences(state);
  watchLedger(state, () => unpressed(() => drawLedger(state)));
  drawLedger(state);
  return () => {
    for (const end of state.ends.values()) end();
    state.unwatch?.();
    clearInterval(state.clock);
    state.width.disconnect();
    root.state = null;
  };
}

const said = ({ plan, engine, collection }) => JSON.stringify([plan, engine, collection]);

/** Build the page anew: after it was run, and where a column comes or goes. Typing and choosing build nothing. */
function build(state) {
  const { root, columns } = state;
  const focused = root.getRootNode().activeElement?.dataset?.key;
  state.notes = h("div", { class: "notes" });
  state.go = h("span", { class: "row" });
  state.cards = columns.map((column, at) => card(state, column, at));
  state.grid = h("div", { class: "cols", style: { "--n": columns.length }, role: "region", "aria-label": "The columns", tabindex: "0", onscroll: () => drawAside(state) }, state.cards.map(({ element }) => element));
  state.aside = aside(state);
  state.width?.disconnect();
  state.width = new ResizeObserver(() => drawAside(state));
  state.width.observe(state.grid);
  state.legend = h("div", {});
  state.ledger = h("section", { class: "card led", "aria-label": "What did each technique buy?" });
  state.dialog = h("dialog", { class: "chunk", onclick: ({ target, currentTarget }) => target === currentTarget && currentTarget.close() });
  root.replaceChildren(header(state), state.notes, state.aside, state.grid, state.legend, state.ledger, state.dialog);
  const wanted = new Set(columns.map(({ run }) => run).filter(Boolean));
  for (const [run, end] of state.ends) {
    if (wanted.has(run)) continue;
    end();
    state.ends.delete(run);
    state.views.delete(run);
  }
  for (const run of wanted) if (!state.ends.has(run)) state.ends.set(run, follow(run, (view) => heard(state, run, view)));
  if (columns.some(({ run }) => run && (state.views.get(run)?.status ?? "running") !== "running")) compared(state);
  draw(state);
  if (focused) focusOn(state, focused, IN_PLACE);
}

const focusOn = ({ root }, key, how) => root.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus(how);
const IN_PLACE = { preventScroll: true };

function header(state) {
  const changed = () => keep(state);
  const box = h("textarea", { "data-key": "question", rows: 1, placeholder: "One question for all columns", "aria-label": "Question", dir: "auto", maxlength: 4000,
    oninput: ({ target }) => { state.question = target.value; drawGo(state); }, onchange: changed,
    onkeydown: (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      run(state);
    } });
  box.value = state.question;
  state.box = box;
  return h("header", { class: "top" }, h("h1", {}, "Compare"), box, state.go);
}

function drawGo(state) {
  const { columns, data } = state;
  const live = running(state);
  const stopping = live.every((id) => state.stopping.has(id));
  const ready = state.question.trim() && columns.length > 1 && columns.every(({ plan, collection }) => plan && collection);
  state.go.replaceChildren(
    h("button", { type: "button", class: "btn", "data-key": "add", disabled: columns.length >= data.most, onclick: () => add(state) }, "Add a plan"),
    live.length ? h("button", { type: "button", class: "btn", "data-key": "go", "aria-disabled": stopping && "true", onclick: () => stopping || stop(state, live) }, stopping ? "Stopping…" : "Stop all")
      : h("button", { type: "button", class: "btn go", "data-key": "go", disabled: !ready, title: ready ? null : "Write a question first", onclick: () => run(state) }, `Run ${COUNTED[columns.length] ?? "them"}`));
}

/** Where columns stand beside the screen: how many are in sight, and the way to the others. */
function aside(state) {
  const to = (by, sign, label) => h("button", { type: "button", class: "btn", "data-key": `aside${by}`, "aria-label": label, title: label, onclick: () => {
    const [first, second] = state.cards.map(({ element }) => element.offsetLeft);
    state.grid.scrollBy({ left: by * (second - first) });
  } }, sign);
  return h("div", { class: "row aside", hidden: true }, h("small", {}), to(-1, "‹", "Earlier columns"), to(1, "›", "Later columns"));
}

function drawAside({ grid, cards, aside: row }) {
  const { scrollLeft: left, clientWidth: width, scrollWidth: all } = grid;
  const [told, earlier, later] = row.children;
  const seen = cards.map(({ element: { offsetLeft: from, offsetWidth: wide } }) => from + wide / 2 > left && from + wide / 2 < left + width);
  const before = left > 2;
  const after = left + width < all - 2;
  row.hidden = !(before || after);
  grid.dataset.more = [before && "before", after && "after"].filter(Boolean).join(" ");
  told.textContent = `Columns ${[...new Set([seen.indexOf(true) + 1, seen.lastIndexOf(true) + 1])].join("–")} of ${cards.length}`;
  earlier.ariaDisabled = String(!before);
  later.ariaDisabled = String(!after);
}

const running = ({ columns, views }) => columns.map(({ run }) => run).filter((id) => id && (views.get(id)?.status ?? "running") === "running");

function run(state) {
  if (running(state).length || !state.question.trim() || state.columns.length < 2) return;
  // The browser may tell it twice, when the page is drawn anew meanwhile: a press has a name.
  state.tell("run", { ...setup(state), press: `${Date.now()} ${Math.random()}` });
}

/** The step under way ends before a run does: until then it is seen that Stop was heard. */
function stop(state, runs) {
  for (const run of runs) state.stopping.add(run);
  draw(state);
  insist(() => state.tell("stop", runs), () => state.root.state === state && running(state).some((run) => runs.includes(run)));
}

const setup = ({ question, columns }) => ({ question, columns: columns.map(({ asked: _, ...column }) => column) });
const keep = (state) => state.keep("setup", setup(state));

function add(state) {
  const used = new Set(state.columns.map(({ plan }) => plan));
  const plan = state.data.plans.find(({ name }) => !used.has(name)) ?? state.data.plans[0];
  state.columns.push({ ...state.columns.at(-1), plan: plan.name, run: "", problem: "", asked: "" });
  keep(state);
  build(state);
  focusOn(state, `plan-${state.columns.length - 1}`);
}

/** A column: what it is asked with, and the cells under that, each in its row of the grid. */
function card(state, column, at) {
  const { data } = state;
  const cells = h("div", { class: "cells" });
  const number = at + 1;
  const techniques = h("small", { class: "on" });
  const chosen = (field) => ({ target }) => {
    column[field] = target.value;
    if (field === "collection") column.documents = []; // they are of the one before
    tellTechniques();
    keep(state);
    draw(state);
  };
  const choice = (field, label, options) => {
    const known = options.some(({ value }) => value === column[field]);
    const all = h("select", { "data-key": `${field}-${at}`, "aria-label": `${label} of column ${number}`, onchange: chosen(field) },
      !known && h("option", { value: column[field] ?? "", disabled: true, selected: true }, column[field] || "choose"),
      options.map(({ value, text, disabled }) => h("option", { value, disabled: Boolean(disabled), selected: value === column[field] }, text)));
    return all;
  };
  const tellTechniques = () => {
    const plan = data.plans.find(({ name }) => name === column.plan);
    const names = (plan?.techniques ?? []).filter((name) => !data.always.includes(name)).map((name) => data.labels[name] ?? name);
    const told = [names.join(", "), column.documents?.length && `only ${column.documents.join(", ")}`].filter(Boolean).join(" · ");
    techniques.textContent = told;
    techniques.title = told;
  };
  tellTechniques();
  const set = h("div", { class: "setup" },
    h("div", { class: "row first" }, choice("plan", "Plan", data.plans.map(({ name }) => ({ value: name, text: name === data.mine ? `${capital(name)} (on Ask)` : capital(name) }))),
      state.columns.length > 2 && h("button", { type: "button", class: "bare drop", "data-key": `drop-${at}`, "aria-label": `Remove column ${number}`, title: "Remove this column", onclick: () => {
        state.columns.splice(at, 1);
        keep(state);
        build(state);
        focusOn(state, `plan-${Math.min(at, state.columns.length - 1)}`);
      } }, "×")),
    techniques,
    h("div", { class: "row two" }, choice("engine", "Engine", data.engines.map(({ name, label, usable }) => ({ value: name, text: label, disabled: !usable }))),
      choice("collection", "Collection", data.collections.map((name) => ({ value: name, text: name })))));
  return { element: h("section", { class: "card col", "aria-label": `Column ${number}` }, set, cells), cells };
}

function heard(state, run, view) {
  const before = state.views.get(run)?.status;
  state.views.set(run, view);
  if (view.status !== "running" && before !== view.status) compared(state);
  if (!state.due) {
    state.due = true;
    setTimeout(() => {
      state.due = false;
      draw(state);
    }, 16); // the columns fill at the same time: they are drawn together
  }
}

/** Do it when no pointer is down: what is drawn anew under one loses the press. */
function unpressed(work) {
  if (held()) setTimeout(() => unpressed(work), 50);
  else work();
}

/** Have the server hold the finished runs against the first. */
async function compared(state) {
  const runs = state.columns.map(({ run }) => run).filter(Boolean);
  const found = await fetch(`/v1/compare?runs=${runs.map(encodeURIComponent).join(",")}`).then((answer) => (answer.ok ? answer.json() : [])).catch(() => []);
  if (state.columns.map(({ run }) => run).filter(Boolean).join() !== runs.join()) return;
  state.compared = new Map(found.filter(Boolean).map((one) => [one.run, one]));
  unpressed(() => {
    draw(state);
    drawLedger(state);
  });
}

/** Draw what the runs have told so far; nothing, and no clock, for a page that was left. */
function draw(state) {
  if (state.root.state !== state) return;
  const { columns, views, cards, data } = state;
  const focused = state.root.getRootNode().activeElement?.dataset?.key;
  const shown = columns.map((column) => ({ column, view: column.run ? named(views.get(column.run), data.labels) : null, compared: state.compared.get(column.run), changed: column.asked && column.asked !== said(column), stopping: state.stopping.has(column.run) }));
  const shared = sharing(shown);
  const end = Math.max(1e-3, ...shown.map(({ view }) => (view ? lasted(view) : 0)));
  const any = shown.some(({ view }) => view);
  const act = { open: (run) => state.tell("open", run), mine: (run) => state.tell("mine", run), stop: (run) => stop(state, [run]), chunk: (id) => chunkDialog(state.dialog, id, shown, shared),
    words: () => { state.words = !state.words; draw(state); } };
  const rows = shown.map((one, at) => (any ? columnCells(one, { at, shown, shared, end, act, words: state.words }) : idleCells(one)));
  const phases = Math.max(0, ...rows.map((cells) => cells.length));
  state.grid.style.setProperty("--rows", phases + 1);
  cards.forEach(({ cells }, at) => cells.replaceChildren(...rows[at]));
  state.legend.replaceChildren(any ? legend(shared) : teaching(state));
  drawGo(state);
  if (focused) focusOn(state, focused, IN_PLACE);
  const live = running(state).length > 0;
  if (live && !state.clock) state.clock = setInterval(() => held() || draw(state), 300);
  if (!live && state.clock) state.clock = clearInterval(state.clock);
}

const named = (view, labels) => view && { ...view, labels };
const lasted = (view) => (view.status === "running" ? (performance.now() - view.began) / 1000 : Math.max(view.seconds ?? 0, ...view.spans.map((span) => span.start_s + (span.duration_s ?? 0))));

function legend({ several }) {
  return h("p", { class: "legend" },
    several && [h("span", {}, h("i", { class: "sq shared" }, "1"), "in more than one column"), h("span", {}, h("i", { class: "sq own" }, "2"), "in this column alone"), h("span", {}, h("i", { class: "sq gone" }, "3"), "cited elsewhere, not found here")],
    h("span", {}, h("i", { class: "sq cited" }, "4"), "cited"), several && h("span", {}, h("b", { class: "move" }, "▲ 2"), "places higher than in the first column"),
    h("span", {}, "A number is the same chunk in every column; grade and support are one critic's, for all of them alike."));
}

function teaching(state) {
  const { collections, examples } = state.data;
  if (!collections.length) return h("div", { class: "empty" }, h("h2", { class: "lead" }, "Nothing to compare yet"), h("p", {}, "Add a PDF under Documents; you can compare plans on it as soon as its pages are read."));
  return h("div", { class: "empty" }, h("h2", { class: "lead" }, "The same question, several ways at once"),
    h("p", {}, "Choose a plan, an engine and a collection a column, and run a question: you see which evidence they share, where the answers differ, which steps each takes and what it costs. Then the ledger asks again without each technique in turn, and says which of them paid."),
    examples.map((question) => h("button", { type: "button", class: "example", dir: "auto", onclick: () => { state.question = question; state.box.value = question; run(state); } }, question)));
}

function sentences({ notes, data }) {
  notes.replaceChildren(...[data.problem && h("p", { class: "problem", role: "alert" }, data.problem), data.said && h("p", { class: "told", role: "status" }, "● ", data.said)].filter(Boolean));
}

/** Keep the ledger that was asked for in sight while what stands above it comes in, until the visitor moves. */
function showLedger(state) {
  state.shows = true;
  const stay = () => (state.shows = false);
  setTimeout(stay, 4000);
  for (const kind of ["wheel", "keydown", "pointerdown"]) window.addEventListener(kind, stay, { once: true, passive: true });
}

function drawLedger(state) {
  const focused = state.root.getRootNode().activeElement?.dataset?.key;
  state.ledger.replaceChildren(...ledgerCard(state, () => drawLedger(state)));
  state.ledger.hidden = !state.ledger.childElementCount;
  if (state.shows) state.ledger.scrollIntoView({ block: "start" });
  if (focused) focusOn(state, focused, IN_PLACE);
}
