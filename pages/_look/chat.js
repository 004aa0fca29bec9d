/* The chat: questions and answers, oldest first, following the run that is under way. */

import { answerCard } from "./answer.js";
import { h, refocused } from "./dom.js";
import { begun, bus, feed, follow, tell, unfed } from "./runs.js";

/** Draw `data`: {tab, runs: [{id, question}], selected, welcome: {title, text, questions}}. */
export default function chat({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  const state = (root.state ??= { turns: new Map(), ends: [] });
  const act = (name, value) => setTriggerValue(name, value);
  state.act = act;

  const shown = data.runs.map(({ id, question }) => {
    if (!state.turns.has(id)) state.turns.set(id, turn(id, question, state));
    return state.turns.get(id);
  });
  for (const [id, one] of state.turns) {
    if (!shown.includes(one)) {
      one.end();
      state.turns.delete(id);
    }
  }
  root.replaceChildren(...(shown.length ? shown.map((one) => one.element) : [welcome(data.welcome, act)]));
  mark(state, data.selected);
  const newest = data.runs.at(-1)?.id;
  if (newest !== state.newest) {
    state.newest = newest;
    toEnd(root, true);
  }
  bus.removeEventListener("select", state.onselect);
  state.onselect = ({ detail }) => mark(state, detail.run);
  bus.addEventListener("select", state.onselect);
  root.onkeydown = keys;
  hear(state, root, data.tab);
  return () => {
    state.socket?.close();
    bus.removeEventListener("select", state.onselect);
    for (const one of state.turns.values()) one.end();
    root.state = null;
  };
}

/** The server tells the run that a question began before the page is drawn anew: its turn begins at once. */
function hear(state, root, tab) {
  if (state.socket) return;
  state.socket = new WebSocket(`${location.origin.replace("http", "ws")}/v1/tabs/${tab}`);
  state.socket.onclose = () => {
    state.socket = null;
    unfed();
  };
  state.socket.onmessage = ({ data }) => {
    const { run, question, events } = JSON.parse(data);
    if (events) return feed(run, events);
    if (state.turns.has(run)) return;
    begun(run);
    const drawn = turn(run, question, state);
    root.querySelector(".empty")?.remove();
    root.append(drawn.element);
    state.turns.set(run, drawn);
    state.newest = run;
    tell("select", { run, question });
    toEnd(root, true);
  };
}

function turn(id, question, state) {
  const answer = h("div", {});
  const element = h("article", { class: "turn", "data-run": id, "aria-label": `Question: ${question}` },
    h("button", { type: "button", class: "q", dir: "auto", title: "Show this run", onclick: () => { tell("select", { run: id }); state.act("select", id); } }, question), answer);
  const draw = (view) => {
    const stuck = nearEnd(element);
    refocused(answer, () => {
      const before = answer.firstElementChild;
      const card = answerCard({ ...view, forks: true }, (name, value) => state.act(name, value), before);
      if (card !== before) answer.replaceChildren(card);
    });
    if (stuck && view.status === "running") toEnd(element, false);
  };
  return { element, end: follow(id, draw) };
}

function mark(state, run) {
  for (const [id, { element }] of state.turns) element.classList.toggle("selected", id === run && state.turns.size > 1);
}

function welcome({ title, text, questions }, act) {
  return h("div", { class: "empty" }, h("h2", { class: "lead" }, title), h("p", {}, text),
    questions.map((question) => h("button", { type: "button", class: "example", onclick: () => act("ask", question) }, question)));
}

/** Arrows go from citation to citation, Escape back to the evidence. */
function keys(event) {
  if (event.key === "Escape") tell("back");
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step || !event.target.matches(".cite")) return;
  event.preventDefault();
  const all = [...event.currentTarget.querySelectorAll(".cite")];
  const next = all[all.indexOf(event.target) + step];
  next?.focus();
  next?.click();
}

/* The box that scrolls is Streamlit's container around this component. */
const scroller = (element) => (element.getRootNode().host ?? element).closest(".st-key-chat");

function nearEnd(element) {
  const box = scroller(element);
  return box !== null && box !== undefined && box.scrollHeight - box.scrollTop - box.clientHeight < 80;
}

function toEnd(element, later) {
  const go = () => {
    const box = scroller(element);
    if (box) box.scrollTop = box.scrollHeight;
  };
  if (later) requestAnimationFrame(go);
  else go();
}
