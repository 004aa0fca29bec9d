/* A finished run once more, at reading speed: its record told as the events that made it, each for as long as it takes
   to read. What draws a live run draws this. */

import { seconds, words } from "./dom.js";
import { changed, emptyView, labelOf, put } from "./runs.js";

/* Milliseconds that each kind of event stays before the next one comes, at speed 1. */
const LASTS = { open: 500, close: 450, call: 150, evidence: 1400, draft: 700, prompt: 0, done: 0 };
const WORDS_A_SECOND = 5;
const WORDS_A_PIECE = 4;

/** The events of a record as [{kind, data, at, lasts, said}]; `at` in seconds of the run, `said` in words. */
export function eventsOf(record) {
  const told = new Map(Map.groupBy(record.prompts ?? [], ({ span_id }) => span_id));
  const last = record.spans.findLast(({ phase, parent_id }) => phase === "answer" && (parent_id ?? null) === null);
  const found = new Set();
  const events = [];
  let shown = 0;
  const tell = (kind, at, data, said, lasts = LASTS[kind]) => events.push({ kind, at, data, said, lasts });
  const show = (at, all) => {
    const hits = all ? record.evidence : record.evidence.filter(({ chunk }) => found.has(chunk.id));
    if (hits.length === shown) return;
    shown = hits.length;
    tell("evidence", at, { hits }, `${hits.length} of the final chunks found`);
  };
  const write = (at) => {
    show(at, true);
    const pieces = record.final_answer.match(new RegExp(`(?:\\S+\\s*){1,${WORDS_A_PIECE}}`, "g")) ?? [];
    for (const delta of pieces) tell("text", at, { delta }, "the answer is written", (1000 * delta.trim().split(/\s+/).length) / WORDS_A_SECOND);
    if (record.sentences.length) tell("draft", at, { sentences: record.sentences.map((one) => ({ ...one, support: null })) }, "the answer is cut into sentences");
  };

  for (const { opens, at, span } of turns(record.spans)) {
    const { attributes, duration_s, error, error_type, ...open } = span;
    const name = labelOf(record, span.name.replace(/^llm\./, ""));
    const inner = span.name.startsWith("llm.");
    if (opens) {
      tell("open", at, open, `${name} begins`, inner ? LASTS.call : LASTS.open);
      continue;
    }
    tell("close", at, span, error ? `${name} failed` : `${name}, ${seconds(duration_s)}`, inner ? LASTS.call : LASTS.close);
    for (const prompt of told.get(span.span_id) ?? []) tell("prompt", at, prompt, words(prompt.signature));
    for (const id of [attributes?.chunks ?? []].flat()) found.add(id);
    show(at, false);
    if (span === last) write(at);
  }
  const end = endOf(record);
  if (!last && record.final_answer) write(end);
  tell("done", end, { record }, "the run is over");
  return events;
}

/** When each span opens and closes; of what happens at once, what ends comes before what begins. */
function turns(spans) {
  const both = spans.flatMap((span) => [{ opens: true, at: span.start_s, span }, { opens: false, at: span.start_s + Math.max(span.duration_s, 1e-9), span }]);
  return both.sort((one, other) => one.at - other.at || one.opens - other.opens || (one.span.span_id - other.span.span_id) * (one.opens ? 1 : -1));
}

export const endOf = (record) => Math.max(record.seconds ?? 0, ...record.spans.map((span) => span.start_s + span.duration_s));

/** Play a record. `told(player)` is called whenever it moves; the run is drawn by all that follow it. */
export class Player {
  constructor(record, told) {
    this.record = record;
    this.events = eventsOf(record);
    this.told = told;
    this.speed = 1;
    this.at = -1;
    this.playing = true;
    this.next();
  }

  get said() {
    return this.events[this.at].said;
  }

  /** Go to the event with that number. */
  go(at) {
    this.at = Math.max(0, Math.min(this.events.length - 1, at));
    if (this.at === this.events.length - 1) this.playing = false;
    const past = this.events.slice(0, this.at + 1);
    const { id, question, plan, engine, collection, documents, created_at, imported } = this.record;
    const view = past.reduce(changed, { ...emptyView(id), question, plan, engine, collection, documents, created_at, imported });
    put(view.status === "running" ? { ...view, at: past.at(-1).at, lasts: endOf(this.record) } : this.record);
    this.told(this);
  }

  /** One event on, and so forth while it plays. */
  next() {
    clearTimeout(this.timer);
    this.go(this.at + 1);
    this.wait();
  }

  wait() {
    clearTimeout(this.timer);
    if (this.playing) this.timer = setTimeout(() => this.next(), this.events[this.at].lasts / this.speed);
  }

  /** Play or pause; from the end it begins anew. */
  toggle() {
    if (this.at === this.events.length - 1) this.at = -1;
    this.playing = !this.playing;
    this.playing ? this.next() : this.pause();
  }

  pause() {
    clearTimeout(this.timer);
    this.playing = false;
    this.told(this);
  }

  /** Pause, and go so many events on or back. */
  step(by) {
    this.pause();
    this.go(this.at + by);
  }

  /** Leave off: the run is shown as it ended. */
  end() {
    clearTimeout(this.timer);
    put(this.record);
  }
}
