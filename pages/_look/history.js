/* Every run that is kept, the newest first: found by its words, narrowed by what it was asked with, a page at a time. */

import { engineName, h, plural, seconds } from "./dom.js";
import { bus, graded, tell } from "./runs.js";

const A_PAGE = 50;
const LOOK_AGAIN_MS = 2000;
const RESULTS = { answered: "answered", refused: "refused", stopped: "stopped", failed: "failed", running: "running" };
const LEDGERS = { with: "with ledger runs", only: "ledger runs alone" };
const TIMES = [[1, "today"], [7, "last 7 days"], [30, "last 30 days"]];

/** Draw `data`: {selected, version}. What is chosen reaches the page as `open` and `compare`. */
export default function history({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  const first = !root.state;
  const state = (root.state ??= { root, query: {}, list: null, choosing: false, chosen: [], parts: begun(root) });
  const again = first || state.version !== data.version;
  const gone = !first && again && !data.selected && state.selected;
  Object.assign(state, { selected: data.selected, version: data.version, act: setTriggerValue });
  if (first) {
    state.parts.find.oninput = ({ target }) => search(state, { words: target.value });
    state.onselect = ({ detail }) => { state.selected = detail.run; draw(state); };
    bus.addEventListener("select", state.onselect);
    root.onkeydown = (event) => keys(state, event);
  }
  if (again) gone ? goOn(state, gone) : load(state);
  else if (state.list) draw(state);
  return () => {
    clearTimeout(state.timer);
    clearTimeout(state.typing);
    bus.removeEventListener("select", state.onselect);
    root.state = null;
  };
}

function begun(root) {
  const find = h("input", { type: "search", class: "find", placeholder: "Find in questions and answers", "aria-label": "Find in questions and answers" });
  const parts = { find, narrow: h("div", { class: "row narrow" }), count: h("div", { class: "row count" }), list: h("div", { class: "days" }) };
  parts.tools = h("div", { class: "tools", hidden: true }, find, parts.narrow);
  root.replaceChildren(parts.tools, parts.count, parts.list);
  return parts;
}

/* What is asked of the server. */

function search(state, change) {
  Object.assign(state.query, change);
  clearTimeout(state.typing);
  state.typing = setTimeout(() => load(state), "words" in change ? 120 : 0);
}

async function load(state, more = false) {
  clearTimeout(state.timer);
  const offset = more ? state.list.runs.length : 0;
  const limit = more ? A_PAGE : Math.max(A_PAGE, state.list?.runs.length ?? 0);
  // What ledgers asked is left out until somebody asks for it, or for one ledger's.
  const ledgers = state.query.ledger_of ? "only" : "without";
  const asked = new URLSearchParams({ ledgers, ...Object.fromEntries(Object.entries(state.query).filter(([, value]) => value)), offset, limit });
  const turn = (state.turn = (state.turn ?? 0) + 1);
  const found = await fetch(`/v1/runs?${asked}`).then((answer) => answer.json()).catch(() => ({ error: "The list cannot be reached; is the app still running?" }));
  if (turn !== state.turn || state.root.state !== state) return; // something else was asked meanwhile, or the page was left
  state.list = found.error ? { runs: [], found: 0, kept: 0, ledger_runs: 0, choices: {}, error: found.error } : { ...found, runs: more ? [...state.list.runs, ...found.runs] : found.runs };
  draw(state);
  if (state.list.runs.some(({ result }) => result === "running")) state.timer = setTimeout(() => load(state), LOOK_AGAIN_MS);
}

/** A run was deleted, by a dialog that holds the focus until it is closed: then the row that took its place has it. */
async function goOn(state, run) {
  const at = Math.max(0, state.list?.runs.findIndex(({ id }) => id === run) ?? 0);
  await load(state);
  const focus = () => {
    if (document.querySelector("[role=dialog]")) return void setTimeout(focus, 50);
    const rows = [...state.root.querySelectorAll(".open")];
    (rows[at] ?? rows.at(-1) ?? state.root.querySelector(".btn"))?.focus();
  };
  setTimeout(focus, 50);
}

/* Drawing. */

function draw(state) {
  const { parts, list, query } = state;
  if (!list) return;
  const { ledgers, ledger_of: of, ...others } = query;
  const narrowed = Object.values(others).some(Boolean);
  parts.tools.hidden = !(list.kept || narrowed || list.ledger_runs);
  const focused = state.root.getRootNode().activeElement?.dataset?.does;
  drawNarrow(state);
  parts.count.replaceChildren(...[(list.kept > 0 || list.ledger_runs > 0) && h("small", { role: "status" }, counted(state, narrowed)),
    of && h("button", { type: "button", class: "btn", "data-does": "all", onclick: () => showAll(state, `ledger-${of}`) }, "Show all runs"),
    list.kept > 1 && comparing(state)].flat().filter(Boolean));
  parts.list.replaceChildren(...(list.runs.length ? days(state) : [nothing(state, narrowed || ledgers || of)]));
  if (focused) focusOn(state, focused);
}

/** How many runs there are; what is left out is counted too. */
function counted({ list, query }, narrowed) {
  const kept = plural(list.kept, query.ledger_of || query.ledgers === "only" ? "ledger run" : "run");
  const left = !query.ledger_of && !query.ledgers && list.ledger_runs > 0 && `, without ${plural(list.ledger_runs, "ledger run")}`;
  return [narrowed && `${list.found.toLocaleString("en")} of `, kept, query.ledger_of && " of one run", left].filter(Boolean).join("");
}

function drawNarrow(state) {
  const { parts, list, query } = state;
  const choice = (name, all, values) => (Object.keys(values).length > 1 || query[name]) && h("select", { "aria-label": all, "data-does": name, class: query[name] ? "set" : null, onchange: ({ target }) => search(state, { [name]: target.value }) },
    h("option", { value: "" }, all), Object.entries(values).map(([value, words]) => h("option", { value, selected: value === query[name] }, words)));
  const same = (names = [], words = String) => Object.fromEntries(names.map((name) => [name, words(name)]));
  const { plan, engine, collection } = list.choices;
  const times = Object.fromEntries(TIMES.map(([days, words]) => [daysAgo(days), words]));
  const all = [choice("result", "any result", RESULTS), choice("since", "any time", times), choice("plan", "any plan", same(plan)), choice("engine", "any engine", same(engine, engineName)), choice("collection", "any collection", same(collection)),
    list.ledger_runs > 0 && !query.ledger_of && choice("ledgers", "no ledger runs", LEDGERS)];
  parts.narrow.replaceChildren(...all.filter(Boolean));
}

/* The first moment of the day that many days back, today being the first. */
function daysAgo(days) {
  const day = new Date();
  day.setHours(0, 0, 0, 0);
  day.setDate(day.getDate() - days + 1);
  return `${day.toISOString().slice(0, -1)}+00:00`;
}

function comparing(state) {
  const { choosing, chosen } = state;
  return [choosing && h("small", { class: "hint" }, chosen.length < 2 ? `Tick ${chosen.length ? "one more run" : "two runs"} to set them side by side.` : ""),
    h("button", { type: "button", class: "btn end", "data-does": "compare", "aria-pressed": String(choosing), onclick: () => {
      Object.assign(state, { choosing: !choosing, chosen: [] });
      draw(state);
    } }, choosing ? "Done" : "Compare two")];
}

function nothing(state, narrowed) {
  if (state.list.error) return h("p", { class: "nothing" }, state.list.error);
  if (narrowed) return h("div", { class: "empty" }, h("p", {}, "No run is so."), h("button", { type: "button", class: "btn", onclick: () => {
    state.parts.find.focus();
    showAll(state);
  } }, "Show all runs"));
  return h("div", { class: "empty" }, h("h2", { class: "lead" }, "No runs yet"),
    h("p", {}, "Whatever you ask is kept here with every step, the evidence and the answer: to be found again, replayed, compared, and sent to others as one file."),
    h("button", { type: "button", class: "btn", onclick: () => state.act("ask", true) }, "Ask a question"));
}

/** Leave every word and choice but these; the focus goes to what `does` that. */
async function showAll(state, does, query = {}) {
  state.query = query;
  state.parts.find.value = "";
  await load(state);
  if (does) focusOn(state, does);
}

const focusOn = ({ root }, does) => root.querySelector(`[data-does="${CSS.escape(does)}"]`)?.focus({ preventScroll: true });

/** The rows under the day on which they were asked. */
function days(state) {
  const { runs, found } = state.list;
  const left = found - runs.length;
  const parts = [...Map.groupBy(runs, ({ created_at: at }) => dayOf(at))].map(([day, asked]) => h("section", { "aria-label": day }, h("h2", { class: "day" }, day), h("ul", { class: "card" }, asked.map((run) => row(state, run)))));
  return left > 0 ? [...parts, h("button", { type: "button", class: "btn further", "data-does": "further", onclick: () => load(state, true) }, `${Math.min(A_PAGE, left)} more of ${left.toLocaleString("en")}`)] : parts;
}

function dayOf(at) {
  const day = new Date(at);
  const back = Math.round((new Date().setHours(0, 0, 0, 0) - new Date(at).setHours(0, 0, 0, 0)) / 86_400_000);
  return ["Today", "Yesterday"][back] ?? day.toLocaleDateString("en-GB", { weekday: "short", day: "numeric", month: "long", year: "numeric" });
}

function row(state, run) {
  const { choosing, chosen, selected } = state;
  const ticked = chosen.includes(run.id);
  const told = [run.plan, engineName(run.engine), run.collection, run.calls > 0 && plural(run.calls, "call"), run.result !== "running" && seconds(run.seconds)].filter(Boolean);
  return h("li", { class: `one ${run.id === selected ? "opened" : ""}`, "data-run": run.id },
    choosing && h("input", { type: "checkbox", checked: ticked, "aria-label": `Compare: ${run.question}`, "data-does": `tick-${run.id}`, onchange: () => tick(state, run.id) }),
    h("button", { type: "button", class: "bare open", "data-does": `open-${run.id}`, "aria-current": run.id === selected ? "true" : null, onclick: () => open(state, run) },
      h("b", { dir: "auto" }, run.question), run.answer && h("span", { class: "says", dir: "auto" }, run.answer),
      h("span", { class: "row facts" }, mark(run), run.imported && h("span", { class: "chip", title: "It came from a file." }, "⇥ imported"), run.ledger_of && h("span", { class: "chip", title: "A ledger asked it, to see what each technique buys." }, "⊟ ledger run"), h("small", { dir: "auto" }, told.join(" · ")), h("small", { class: "end num" }, new Date(run.created_at).toTimeString().slice(0, 5)))),
    run.ledger_runs > 0 && h("div", { class: "asked-for" }, h("button", { type: "button", class: "bare", "data-does": `ledger-${run.id}`, title: "What the ledger of this run asked", onclick: () => showAll(state, "all", { ledger_of: run.id }) }, `⊟ ${plural(run.ledger_runs, "ledger run")}`)));
}

/** How it ended, as a sign and a word. */
function mark({ result, supported, sentences }) {
  if (result === "answered" && !sentences) return h("span", { class: "chip" }, "answered");
  if (result === "answered") {
    const grade = supported === sentences ? "full" : supported ? "part" : "none";
    return h("span", { class: `chip ${grade}` }, `${graded[grade]} ${supported} of ${sentences} supported`);
  }
  const [grade, sign] = { refused: ["", "–"], failed: ["none", "○"], stopped: ["part", "◐"], running: ["on", "…"] }[result];
  return h("span", { class: `chip ${grade}` }, `${sign} ${result}`);
}

/* What is done. */

function open(state, run) {
  tell("select", { run: run.id, question: run.question });
  state.act("open", run.id);
}

function tick(state, id) {
  const there = state.chosen.includes(id);
  state.chosen = there ? state.chosen.filter((one) => one !== id) : [...state.chosen.slice(-1), id];
  draw(state);
  if (state.chosen.length === 2) state.act("compare", state.chosen);
}

/** Arrows go from row to row. */
function keys(state, event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step || !event.target.matches(".open")) return;
  event.preventDefault();
  const all = [...state.root.querySelectorAll(".open")];
  all[all.indexOf(event.target) + step]?.focus();
}
