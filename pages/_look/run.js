/* The run beside the chat: its timeline, and under tabs the evidence, the reflection, the prompts and the page. */

import { h, seconds, tabList } from "./dom.js";
import { evidenceCards, fetchAhead } from "./evidence.js";
import { litPage } from "./lit.js";
import { PAGE_DPI } from "./picture.js";
import { promptCards } from "./prompts.js";
import { hasReflection, reflection } from "./reflection.js";
import { bus, citedChunks, follow } from "./runs.js";
import { lanes, summary } from "./timeline.js";

/** Draw `data`: {run: id or null, questions: {id: question}}. */
export default function run({ data, parentElement }) {
  const root = parentElement.querySelector(".root");
  const state = (root.state ??= { root, run: undefined, tab: "evidence", lit: null, drawn: {} });
  state.questions = data.questions;
  show(state, data.run);
  listen(state);
  return () => {
    state.end?.();
    clearInterval(state.clock);
    unlisten(state);
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
      inSight(state.root);
    },
    back: () => choose(state, state.tab === "page" ? state.before ?? "evidence" : state.tab),
  };
  for (const [kind, heard] of Object.entries(state.heard)) bus.addEventListener(kind, heard);
  state.root.onkeydown = (event) => event.key === "Escape" && state.heard.back();
}

function unlisten(state) {
  for (const [kind, heard] of Object.entries(state.heard ?? {})) bus.removeEventListener(kind, heard);
}

function show(state, id) {
  if (id === state.run) return;
  state.end?.();
  Object.assign(state, { run: id, tab: "evidence", lit: null, drawn: {} });
  state.root.replaceChildren();
  if (!id) {
    state.root.append(h("p", { class: "nothing" }, "Here you see how the answer comes about: each step as it happens, the evidence it found, and the page behind every citation."));
    return;
  }
  state.head = h("section", { class: "card tl", "aria-label": "Run" });
  state.bar = h("div", { class: "bar-of-tabs" });
  state.body = h("div", { class: "panel", role: "tabpanel" });
  state.root.append(state.head, state.bar, state.body);
  state.end = follow(id, (view) => {
    state.view = view;
    draw(state);
  });
}

function choose(state, tab) {
  state.tab = tab;
  draw(state);
}

/** Draw what changed, and only that: the lanes, the tabs, the panel. */
function draw(state) {
  const { view, drawn } = state;
  if (drawn.spans !== view.spans || drawn.status !== view.status) drawTimeline(state);
  drawTabs(state);
  drawPanel(state);
  if (drawn.status !== view.status && view.status !== "running") {
    for (const id of citedChunks(view).slice(0, 4)) fetchAhead(view.evidence.find((hit) => hit.chunk.id === id)?.chunk, PAGE_DPI);
  }
  Object.assign(drawn, { spans: view.spans, status: view.status });
  const live = view.status === "running";
  if (live && !state.clock) state.clock = setInterval(() => drawTimeline(state), 200);
  if (!live && state.clock) state.clock = clearInterval(state.clock);
}

function drawTimeline(state) {
  const { view, head } = state;
  const now = (performance.now() - view.began) / 1000;
  const open = new Set([...head.querySelectorAll("details[open]")].map((one) => one.dataset.span));
  const status = view.status === "running" ? h("span", { class: "chip on" }, h("i", { class: "pulse", "aria-hidden": "true" }), "running")
    : view.status === "done" ? h("span", { class: "chip num" }, seconds(view.seconds)) : h("span", { class: `chip ${view.status === "failed" ? "none" : "part"}` }, view.status === "failed" ? "○ failed" : "◐ stopped");
  head.replaceChildren(
    h("div", { class: "row head" }, h("h2", {}, "Run"), h("small", {}, summary(view)),
      h("span", { class: "row end" }, status, view.status !== "running" && h("a", { class: "btn", href: `/v1/runs/${encodeURIComponent(view.id)}`, download: `run-${view.id}.json`, title: "The whole record as JSON" }, "Export"))),
    ...lanes(view, now));
  for (const one of head.querySelectorAll("details")) one.open = open.has(one.dataset.span);
}

function drawTabs(state) {
  const { view, drawn } = state;
  const tabs = [{ id: "evidence", label: `Evidence ${view.evidence.length}` }];
  if (hasReflection(view)) tabs.push({ id: "reflection", label: "Reflection" });
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
  const shown = { evidence: [view.evidence, view.sentences, view.status === "running"], reflection: [view.sentences], prompts: [view.prompts], page: [state.lit, view.evidence, view.sentences] }[tab];
  if (drawn.tab === tab && drawn.shown?.every((one, at) => one === shown[at])) return;
  Object.assign(drawn, { tab, shown });
  const question = view.question ?? state.questions[view.id] ?? "";
  const parts = { evidence: () => evidenceCards(view, question), reflection: () => reflection(view), prompts: () => promptCards(view), page: () => litPage(view, state.lit.chunk, state.lit.page) }[tab]();
  state.body.setAttribute("aria-label", tab);
  state.body.replaceChildren(...parts);
}

/** On a narrow screen the run is under the chat: bring it up when a citation opens a page. */
function inSight(root) {
  const host = root.getRootNode().host ?? root;
  const { top } = host.getBoundingClientRect();
  if (top < 0 || top > window.innerHeight * 0.6) host.scrollIntoView({ block: "start" });
  else host.closest(".st-key-run-side")?.scrollTo({ top: 0 });
}
