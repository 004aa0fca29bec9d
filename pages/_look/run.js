/* The inspector: all that a run did, live or stored. Its timeline, and under tabs the evidence, the reflection, the
   prompts and the page; where it stands alone, without a chat beside it, the question and the answer come first. */

import { answerCard } from "./answer.js";
import { correction, hasCorrection } from "./correction.js";
import { engineName, h, refocused, renewed, seconds, tabList } from "./dom.js";
import { evidenceCards, fetchAhead } from "./evidence.js";
import { branching } from "./fork.js";
import { graphSpans, usedGraph } from "./graphs.js";
import { healing, healings } from "./healing.js";
import { litPage } from "./lit.js";
import { PAGE_DPI } from "./picture.js";
import { promptCards } from "./prompts.js";
import { Player } from "./replay.js";
import { replayBar } from "./replay_bar.js";
import { hasReflection, reflection } from "./reflection.js";
import { bus, citedChunks, follow, held } from "./runs.js";
import { lanes, summary, timesOf } from "./timeline.js";
import { treeSpans, usedTree } from "./trees.js";

/** Draw `data`: {run: id or null, questions: {id: question}, labels: {technique: what it is called}, problem, alone, kept}. */
export default function run({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  const state = (root.state ??= { root, run: undefined, tab: "evidence", lit: null, drawn: {} });
  Object.assign(state, { questions: data.questions, labels: data.labels, alone: data.alone, kept: data.kept, act: setTriggerValue ?? null });
  // A run beside its chat can be branched; one that stands alone is only looked at.
  if (!data.alone && !data.kept) (state.branching ??= branching(setTriggerValue)).refused(data.problem);
  show(state, data.run);
  listen(state);
  return () => {
    state.end?.();
    state.player?.end();
    clearInterval(state.clock);
    unlisten(state);
    state.branching?.end();
    root.state = null;
  };
}

function listen(state) {
  if (state.heard) return;
  state.heard = {
    select: ({ detail: { run, question } }) => {
      if (question) state.questions = { ...state.questions, [run]: question };
      show(state, run);
    },
    cite: ({ detail }) => {
      show(state, detail.run);
      if (state.tab !== "page") state.before = state.tab;
      Object.assign(state, { tab: "page", lit: detail });
      draw(state);
      inSight(state);
    },
    show: ({ detail }) => {
      show(state, detail.run);
      choose(state, detail.tab);
      inSight(state);
    },
    back: () => choose(state, state.tab === "page" ? state.before ?? "evidence" : state.tab),
  };
  for (const [kind, heard] of Object.entries(state.heard)) bus.addEventListener(kind, heard);
  // No value: a handler that gives `false` takes every other key from the buttons and fields in here.
  state.root.onkeydown = (event) => {
    if (event.key === "Escape") state.heard.back();
  };
}

function unlisten(state) {
  for (const [kind, heard] of Object.entries(state.heard ?? {})) bus.removeEventListener(kind, heard);
}

function show(state, id) {
  if (id === state.run) return;
  state.end?.();
  state.player?.end();
  Object.assign(state, { run: id, tab: "evidence", lit: null, drawn: {}, player: null });
  state.root.replaceChildren();
  if (!id) {
    state.root.append(h("p", { class: "nothing" }, state.alone ? "Open a run to see what it did: each step with its time, the evidence, the checks, every prompt and reply, and the pages that it cites." : "Here you see how the answer comes about: each step as it happens, the evidence it found, and the page behind every citation."));
    return;
  }
  state.head = h("section", { class: "card tl", "aria-label": "Run" });
  state.bar = h("div", { class: "bar-of-tabs" });
  state.body = h("div", { class: "panel", role: "tabpanel" });
  state.answer = h("article", { class: "answered", "aria-label": "Answer", hidden: !state.alone });
  state.playing = h("div", { class: "playing" });
  state.root.append(state.answer, state.playing, state.head, state.branching?.element ?? "", state.bar, state.body);
  state.end = follow(id, (view) => {
    state.view = { ...view, labels: state.labels, forks: Boolean(state.branching) };
    state.branching?.draw(state.view);
    draw(state);
  });
}

function choose(state, tab) {
  state.tab = tab;
  draw(state);
}

/** Draw the run; a record from elsewhere may hold what no run of this version has. */
function draw(state) {
  try {
    drawChanges(state);
  } catch (problem) {
    reportError(problem);
    state.end?.();
    state.root.replaceChildren(h("p", { class: "nothing" }, "This record holds what cannot be drawn; its JSON has all of it."));
  }
}

/** Draw what changed, and only that: the lanes, the tabs, the panel. */
function drawChanges(state) {
  const { view, drawn } = state;
  if (view.gone) {
    state.clock = clearInterval(state.clock);
    state.root.replaceChildren(h("p", { class: "nothing", role: "status" }, view.error));
    return;
  }
  if (drawn.spans !== view.spans || drawn.status !== view.status) drawTimeline(state);
  if (state.alone && state.drawn.view !== view) drawAnswer(state);
  drawTabs(state);
  drawPanel(state);
  if (drawn.status !== view.status && view.status !== "running") {
    for (const id of citedChunks(view).slice(0, 4)) fetchAhead(view.evidence.find((hit) => hit.chunk.id === id)?.chunk, PAGE_DPI);
  }
  Object.assign(drawn, { spans: view.spans, status: view.status, view });
  const live = view.status === "running" && view.at === undefined;
  if (live && !state.clock) state.clock = setInterval(() => held() || drawTimeline(state), 200);
  if (!live && state.clock) state.clock = clearInterval(state.clock);
}

function drawAnswer({ view, answer, questions, act }) {
  const question = view.question ?? questions[view.id] ?? "";
  const asked = [view.plan?.name, engineName(view.engine), view.collection, (view.documents ?? []).join(", "), view.created_at && moment(view.created_at)].filter(Boolean);
  const head = h("div", { class: "asked" }, h("h2", { class: "lead", dir: "auto" }, question),
    h("p", { class: "row" }, h("small", { dir: "auto" }, asked.join(" · ")), view.imported && h("span", { class: "chip", title: "It came from a file; its documents may not be here." }, `⇥ imported ${moment(view.imported)}`), view.ledger_of && h("span", { class: "chip", title: "A ledger asked it, to see what each technique buys." }, "⊟ ledger run")));
  const before = answer.lastElementChild;
  const card = answerCard(view, act, before);
  if (card === before) answer.firstElementChild.replaceWith(head);
  else refocused(answer, () => answer.replaceChildren(head, card));
}

const moment = (iso) => new Date(iso).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });

/** Begin to replay the run, or leave off. */
function replay(state) {
  const { playing } = state;
  if (state.player) {
    state.player.end();
    state.player = null;
    playing.replaceChildren();
    state.replayed = true; // the focus goes back to the button that began it, once that is drawn
  } else {
    const bar = replayBar(() => replay(state));
    state.player = new Player(state.view, bar.follow);
    playing.replaceChildren(bar);
    choose(state, "evidence");
    bar.querySelector(".play").focus({ preventScroll: true });
  }
}

/** The lanes, of which only those that changed are drawn anew; one that is open stays open. */
function drawTimeline(state) {
  const { view, head } = state;
  const now = view.at ?? (performance.now() - view.began) / 1000;
  const open = new Set([...head.querySelectorAll("details[open]")].map((one) => one.dataset.lane));
  const focused = head.getRootNode().activeElement?.dataset?.key;
  const status = view.status === "running" ? h("span", { class: "chip on" }, h("i", { class: "pulse", "aria-hidden": "true" }), view.at === undefined ? "running" : "replayed")
    : view.status === "done" ? h("span", { class: "chip num" }, seconds(view.seconds)) : h("span", { class: `chip ${view.status === "failed" ? "none" : "part"}` }, view.status === "failed" ? "○ failed" : "◐ stopped");
  if (!head.firstChild) head.append(h("div", { class: "row head" }), h("div", { class: "lanes" }));
  const [top, body] = head.children;
  renewed(top, [h("h2", {}, "Run"), h("small", {}, summary(view)), h("span", { class: "row end" }, status, view.status !== "running" && ways(state))]);
  const drawn = lanes(view);
  for (const one of drawn.flatMap((each) => [each, ...each.querySelectorAll("details")])) one.toggleAttribute("open", open.has(one.dataset.lane));
  renewed(body, drawn);
  for (const [name, value] of Object.entries(timesOf(view, now))) body.style.setProperty(name, value);
  const key = state.replayed && view.status !== "running" ? "replay" : focused;
  if (key && head.getRootNode().activeElement?.dataset?.key !== key) head.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus({ preventScroll: true });
  if (key === "replay") state.replayed = false;
}

/** What can be done with a run that is over. */
function ways(state) {
  const { view, act, alone, kept } = state;
  const file = (kind, title) => h("a", { class: "btn", "data-key": kind, href: `/v1/runs/${encodeURIComponent(view.id)}/export.${kind}`, download: true, title, "aria-label": title }, kind.toUpperCase());
  return [
    view.spans.length > 0 && h("button", { type: "button", class: "btn", "data-key": "replay", title: "See it happen once more, at reading speed", onclick: () => replay(state) }, "Replay"),
    !kept && [h("small", {}, "Export"), file("html", "Export as one HTML file that opens offline"), file("json", "Export the whole record as JSON")],
    alone && act && h("button", { type: "button", class: "btn delete", "data-key": "delete", onclick: () => act("delete", view.id) }, "Delete"),
  ];
}

function drawTabs(state) {
  const { view, drawn } = state;
  const tabs = [{ id: "evidence", label: `Evidence ${view.evidence.length}` }];
  if (hasReflection(view)) tabs.push({ id: "reflection", label: "Reflection" });
  if (hasCorrection(view)) tabs.push({ id: "correction", label: "Correction" });
  if (healings(view)) tabs.push({ id: "healing", label: `Healing ${healings(view)}` });
  if (graphSpans(view).length) tabs.push({ id: "graph", label: "Graph" });
  if (treeSpans(view).length) tabs.push({ id: "tree", label: "Tree" });
  tabs.push({ id: "prompts", label: `Prompts ${view.prompts.length}` });
  if (state.lit) tabs.push({ id: "page", label: "Page" });
  if (!tabs.some(({ id }) => id === state.tab)) state.tab = "evidence";
  const said = JSON.stringify([tabs, state.tab]);
  if (drawn.tabs === said) return;
  drawn.tabs = said;
  state.bar.replaceChildren(tabList("What the run did", tabs, state.tab, (tab) => choose(state, tab)));
}

function drawPanel(state) {
  const { view, drawn, tab } = state;
  const checks = [view.spans, view.sentences, view.evidence];
  const shown = { evidence: [view.evidence, view.sentences, view.status], reflection: checks, correction: checks, healing: checks, graph: checks, tree: checks, prompts: [view.prompts], page: [state.lit, view.evidence, view.sentences] }[tab];
  if (drawn.tab === tab && drawn.shown?.every((one, at) => one === shown[at])) return;
  Object.assign(drawn, { tab, shown });
  const question = view.question ?? state.questions[view.id] ?? "";
  const parts = { evidence: () => evidenceCards(view, question), reflection: () => reflection(view), correction: () => correction(view), healing: () => healing(view), graph: () => usedGraph(view), tree: () => usedTree(view), prompts: () => promptCards(view), page: () => litPage(view, state.lit.chunk, state.lit.page) }[tab]();
  const focused = state.body.contains(state.body.getRootNode().activeElement);
  state.body.setAttribute("aria-label", tab);
  state.body.replaceChildren(...parts);
  // Who came here by a button that is gone now goes on from the one that leads back.
  if (focused && tab === "page") state.body.querySelector(".back")?.focus({ preventScroll: true });
}

/** Bring up what was asked for: it may be under the chat, under a long timeline, or above where one has read to. */
function inSight({ body }) {
  const { top } = body.getBoundingClientRect();
  if (top < 0 || top > window.innerHeight * 0.4) body.scrollIntoView({ block: "start" });
}
