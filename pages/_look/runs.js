/* The runs that this page shows, each followed once however many parts draw it.

A view of a run is what its events have told so far, in the fields of its record; when the run is over it is the
record itself. Both components of a page import this module, so they share the views and the bus. */

import { words } from "./dom.js";

/** What the parts tell each other: "select" {run, question?}, "cite" {run, chunk}, "show" {run, tab}, "back" {},
    "branch" {run, span?, kind?}: open what makes a branch of a run, "fork" {run, step?, edit}: make one. */
export const bus = new EventTarget();
export const tell = (kind, detail = {}) => bus.dispatchEvent(new CustomEvent(kind, { detail }));

const followed = new Map();

/** Call `draw(view)` now and whenever the run changes, at most once a frame. Gives the function that ends it. */
export function follow(id, draw) {
  let one = followed.get(id);
  if (!one) followed.set(id, (one = start(id)));
  one.draws.add(draw);
  draw(one.view);
  return () => one.draws.delete(draw);
}

/** A run that this tab began: its events come by `feed`, through the socket that told of it. */
export function begun(id) {
  if (!followed.has(id)) followed.set(id, { ...unheard(id), fed: true });
}

export function feed(id, events) {
  const one = followed.get(id);
  if (one?.fed) for (const event of events) heard(one, event);
}

/** That socket is gone: whatever it told of is listened to directly, from where it was. */
export function unfed() {
  for (const one of followed.values()) if (one.fed && one.view.status === "running") listen(one);
}

const unheard = (id) => ({ view: emptyView(id), draws: new Set(), due: false, source: null, seen: 0, fed: false });

function start(id) {
  const one = unheard(id);
  listen(one);
  return one;
}

function listen(one) {
  const source = new EventSource(`/v1/runs/${encodeURIComponent(one.view.id)}/events${one.seen ? `?after=${one.seen}` : ""}`);
  Object.assign(one, { source, fed: false });
  source.onmessage = ({ data }) => heard(one, JSON.parse(data));
  source.onerror = () => {
    // A stream that broke is taken up again by the browser; one that was refused is not.
    if (source.readyState !== EventSource.CLOSED || one.view.status !== "running") return;
    one.view = { ...one.view, status: "failed", gone: true, error: "This run is not in the history any more; ask again." };
    redraw(one);
  };
}

function heard(one, event) {
  one.seen = event.n;
  one.view = changed(one.view, event);
  if (event.kind === "done") one.source?.close();
  redraw(one);
}

let pressed = false;
const track = ({ buttons }) => (pressed = buttons > 0);
for (const kind of ["pointerdown", "pointermove"]) window.addEventListener(kind, track, true);
// Not before the click that follows has come.
for (const kind of ["pointerup", "pointercancel"]) window.addEventListener(kind, () => setTimeout(() => (pressed = false)), true);

/** Whether a pointer is down: what is drawn anew under it loses the press, and a selection its text. */
export const held = () => pressed;

/** Show a run as this view has it: a run that is replayed, or one that no server knows. */
export function put(view) {
  let one = followed.get(view.id);
  if (!one) followed.set(view.id, (one = { view, draws: new Set(), due: false, source: null }));
  one.view = view;
  redraw(one);
}

/** An answer was rated: that is seen at once, wherever it is drawn. */
export function rated(id, feedback) {
  const one = followed.get(id);
  one.view = { ...one.view, feedback };
  redraw(one);
}

const AGAIN_MS = 3000;

/** Say it, and again as long as `goesOn()`: what is said while the page's script starts can be lost. */
export function insist(say, goesOn) {
  say();
  const again = setInterval(() => (goesOn() ? say() : clearInterval(again)), AGAIN_MS);
}

function redraw(one) {
  if (one.due) return;
  one.due = true;
  const draw = () => {
    if (!one.due) return;
    if (held()) return void setTimeout(draw, 50);
    one.due = false;
    for (const each of [...one.draws]) each(one.view);
  };
  requestAnimationFrame(draw);
  // A tab that nobody sees gets no frames; it is drawn all the same, so that it is right when it is looked at.
  setTimeout(draw, 100);
}

export const emptyView = (id) => ({
  id, status: "running", text: "", sentences: [], evidence: [], spans: [], prompts: [], techniques: {}, began: performance.now(),
});

/** The view after an event. Parts that did not change stay the same objects: a part is drawn again only when its own changed. */
export function changed(view, { kind, data }) {
  switch (kind) {
    case "open": return { ...view, spans: [...view.spans, { ...data, open: true, attributes: {} }] };
    case "close": return { ...view, spans: [...view.spans.filter((span) => span.span_id !== data.span_id), data] };
    case "evidence": return { ...view, evidence: data.hits };
    case "text": return { ...view, text: view.text + data.delta };
    case "restart": return { ...view, text: "", sentences: [] };
    case "draft": return { ...view, sentences: data.sentences };
    case "prompt": return { ...view, prompts: [...view.prompts, data] };
    case "done": return { ...view, ...data.record, text: data.record.final_answer };
    default: return view;
  }
}

/** What a step is called: as on the switch of its technique, where it is one. */
export const labelOf = (view, name) => view.labels?.[name] ?? words(name);

/** Chunk id -> its number in the evidence, from 1. */
export const numbers = (view) => new Map(view.evidence.map((hit, at) => [hit.chunk.id, at + 1]));

/** Chunk id -> the numbers of the sentences that cite it, from 1. */
export function heldUp(view) {
  const held = new Map();
  view.sentences.forEach((sentence, at) => {
    for (const chunk of sentence.citations) held.set(chunk, [...(held.get(chunk) ?? []), at + 1]);
  });
  return held;
}

/** The chunks that the answer cites, in the order of the answer. */
export const citedChunks = (view) => [...new Set(view.sentences.flatMap((sentence) => sentence.citations))];

/** Chunk id -> where it was found first: {step, rank, words, later}; `later` where that was not the first search. */
export function origins(view) {
  const found = new Map();
  const searches = view.spans.filter((span) => ["retrieve", "sub_query"].includes(span.name)).sort((a, b) => a.start_s - b.start_s || a.span_id - b.span_id);
  const hops = searches.filter(({ name }) => name === "retrieve").length;
  searches.forEach(({ name, attributes = {} }, at) => {
    const hop = attributes.hop ?? at + 1;
    const step = name === "retrieve" ? (hops > 1 ? `hop ${hop}` : "the search") : "a sub-question";
    const query = at && attributes.query ? ` by “${attributes.query}”` : "";
    (attributes.chunks ?? []).forEach((id, place) => {
      if (!found.has(id)) found.set(id, { step, rank: place + 1, words: hops > 1 || at ? `found in ${step}${query}` : "", later: at > 0 });
    });
  });
  return found;
}

/** The sign that stands beside each grade, so that none is told by colour alone. */
export const graded = { full: "●", part: "◐", none: "○" };

/** Chunk id -> how relevant reflection or correction found it: {probability, words, grade}. */
export function relevance(view) {
  const found = new Map();
  for (const span of view.spans) {
    if (span.name === "crag") {
      for (const { chunk, score, relevant } of span.attributes?.chunks ?? []) found.set(chunk, { probability: score, words: relevant ? "relevant" : "not relevant", grade: relevant ? "full" : score >= 0.5 ? "part" : "none" });
    }
    if (span.name === "self_rag") {
      for (const { chunk, probability, label } of span.attributes?.relevance ?? []) found.set(chunk, { probability, words: label, grade: label === "relevant" ? "full" : "none" });
    }
  }
  return found;
}

/** Where a chunk was found on the web; undefined for a chunk of a document. */
export const urlOf = ({ url, source, places }) => url ?? (!places.length && /^https?:/i.test(source ?? "") ? source : undefined);
