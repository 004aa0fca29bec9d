/* The run beside the chat: its timeline, and under tabs the evidence, the reflection, the prompts and the page. */

import { correction, hasCorrection } from "./correction.js";
import { h, seconds, tabList } from "./dom.js";
import { evidenceCards, fetchAhead } from "./evidence.js";
import { branching } from "./fork.js";
import { healing, healings } from "./healing.js";
import { litPage } from "./lit.js";
import { PAGE_DPI } from "./picture.js";
import { promptCards } from "./prompts.js";
import { hasReflection, reflection } from "./reflection.js";
import { bus, citedChunks, follow, held } from "./runs.js";
import { lanes, summary } from "./timeline.js";

/** Draw `data`: {run: id or null, questions: {id: question}, labels: {technique: what it is called}, problem}. */
export default function run({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  const state = (root.state ??= { root, run: undefined, tab: "evidence", lit: null, drawn: {} });
  Object.assign(state, { questions: data.questions, labels: data.labels });
  state.branching ??= branching(setTriggerValue);
  state.branching.refused(data.problem);
  show(state, data.run);
  listen(state);
  return () => {
    state.end?.();
    clearInterval(state.clock);
    unlisten(state);
    state.branching.end();
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
  Object.assign(state, { run: id, tab: "evidence", lit: null, drawn: {} });
  state.root.replaceChildren();
  if (!id) {
    state.root.append(h("p", { class: "nothing" }, "Here you see how the answer comes about: each step as it happens, the evidence it found, and the page behind every citation."));
    return;
  }
  state.head = h("section", { class: "card tl", "aria-label": "Run" });
  state.bar = h("div", { class: "bar-of-tabs" });
  state.body = h("div", { class: "panel", role: "tabpanel" });
  state.root.append(state.head, state.branching.element, state.bar, state.body);
  state.end = follow(id, (view) => {
    state.view = { ...view, labels: state.labels, forks: true };
    state.branching.draw(state.view);
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
  if (live && !state.clock) state.clock = setInterval(() => held() || drawTimeline(state), 200);
  if (!live && state.clock) state.clock = clearInterval(state.clock);
}

function drawTimeline(state) {
  const { view, head } = state;
  const now = (performance.now() - view.began) / 1000;
  const open = new Set([...head.querySelectorAll("details[open]")].map((one) => one.dataset.lane));
  const focused = head.getRootNode().activeElement?.dataset?.key;
  const scrolled = head.querySelector(".lanes")?.scrollTop ?? 0;
  const status = view.status === "running" ? h("span", { class: "chip on" }, h("i", { class: "pulse", "aria-hidden": "true" }), "running")
    : view.status === "done" ? h("span", { class: "chip num" }, seconds(view.seconds)) : h("span", { class: `chip ${view.status === "failed" ? "none" : "part"}` }, view.status === "failed" ? "○ failed" : "◐ stopped");
  head.replaceChildren(
    h("div", { class: "row head" }, h("h2", {}, "Run"), h("small", {}, summary(view)),
      h("span", { class: "row end" }, status, view.status !== "running" && h("a", { class: "btn", href: `/v1/runs/${encodeURIComponent(view.id)}`, download: `run-${view.id}.json`, title: "The whole record as JSON" }, "Export"))),
    h("div", { class: "lanes" }, lanes(view, now)));
  for (const one of head.querySelectorAll("details")) one.open = open.has(one.dataset.lane);
  if (focused) head.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  head.querySelector(".lanes").scrollTop = scrolled;
}

function drawTabs(state) {
  const { view, drawn } = state;
  const tabs = [{ id: "evidence", label: `Evidence ${view.evidence.length}` }];
  if (hasReflection(view)) tabs.push({ id: "reflection", label: "Reflection" });
  if (hasCorrection(view)) tabs.push({ id: "correction", label: "Correction" });
  if (healings(view)) tabs.push({ id: "healing", label: `Healing ${healings(view)}` });
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
  const shown = { evidence: [view.evidence, view.sentences, view.status], reflection: checks, correction: checks, healing: checks, prompts: [view.prompts], page: [state.lit, view.evidence, view.sentences] }[tab];
  if (drawn.tab === tab && drawn.shown?.every((one, at) => one === shown[at])) return;
  Object.assign(drawn, { tab, shown });
  const question = view.question ?? state.questions[view.id] ?? "";
  const parts = { evidence: () => evidenceCards(view, question), reflection: () => reflection(view), correction: () => correction(view), healing: () => healing(view), prompts: () => promptCards(view), page: () => litPage(view, state.lit.chunk, state.lit.page) }[tab]();
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
