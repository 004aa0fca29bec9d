/* The cells of a column of Compare, a row each, so that the grid sets what belongs together side by side: its steps by
   phase, its evidence as numbered squares, its answer, what it took. */

import { capital, h, seconds, shortName } from "./dom.js";
import { graded } from "./runs.js";
import { lanesOf } from "./timeline.js";

const PHASES = [["question", "Question"], ["retrieve", "Retrieve"], ["sub_queries", "Sub-questions"], ["answer", "Answer"], ["heal", "Check, heal"]];
const SUPPORT = { fully_supported: ["s-full", "supported"], partially_supported: ["s-part", "partly supported"], no_support: ["s-none", "no support"] };

/** What the columns share: {number: chunk -> number, columns: chunk -> in how many, chunk: id -> chunk, several}. Numbers go
    through the columns in their order, by rank, so that a chunk has the same one everywhere. */
export function sharing(shown) {
  const [number, columns, chunk] = [new Map(), new Map(), new Map()];
  for (const { view } of shown) {
    for (const hit of view?.evidence ?? []) {
      const { id } = hit.chunk;
      if (!number.has(id)) number.set(id, number.size + 1);
      columns.set(id, (columns.get(id) ?? 0) + 1);
      chunk.set(id, hit.chunk);
    }
  }
  return { number, columns, chunk, several: shown.filter(({ view }) => view?.evidence.length).length > 1 };
}

export const rankIn = (view, id) => (view?.evidence.findIndex((hit) => hit.chunk.id === id) ?? -1) + 1;
export const citedBy = (view) => new Set((view?.sentences ?? []).flatMap(({ citations }) => citations));

/** What a column is called: by its plan, with its number where another has the same. */
export function titleOf(columns, at) {
  const plan = columns[at]?.plan;
  const title = capital(plan ?? "a plan of another version");
  return columns.filter((one) => one.plan === plan).length > 1 ? `${at + 1} · ${title}` : title;
}

/** What stands in a column that was not asked yet. */
export const idleCells = ({ column }) => (column.problem ? [problem(column)] : []);

/** The cells of a column, as many as in every other. */
export function columnCells({ column, view, compared, changed, stopping }, { at, shown, shared, end, act, words }) {
  const phases = PHASES.filter(([phase]) => shown.some((one) => one.view && inPhase(one.view, phase).length));
  if (!view) return [column.problem ? problem(column) : h("p", { class: "cell small" }, "Not asked yet."), ...Array(phases.length + 4).fill(0).map(() => h("div", {}))];
  return [
    status(view, compared, changed, stopping, act),
    evidence(view, at, shown, shared, act),
    answer(view, at, compared, shown, shared, words, act),
    totals(view, compared),
    ...phases.map(([phase, label]) => steps(view, phase, label, end, shown)),
    actions(view, column, act),
  ];
}

const problem = ({ problem: reason }) => h("div", { class: "cell status" }, h("span", { class: "chip none" }, "○ not asked"), h("p", { class: "small" }, reason));

function status(view, compared, changed, stopping, act) {
  const { grade } = compared ?? {};
  const shade = !grade?.answered ? "" : grade.quality >= 0.85 ? "full" : grade.quality >= 0.5 ? "part" : "none";
  const state = {
    running: () => [h("span", { class: "chip on" }, h("i", { class: "pulse", "aria-hidden": "true" }), "running"), h("button", { type: "button", class: "btn end", "data-key": `stop-${view.id}`, "aria-disabled": stopping && "true", onclick: () => stopping || act.stop(view.id) }, stopping ? "Stopping…" : "Stop")],
    done: () => [grade?.answered && h("span", { class: `chip ${shade}`, title: "The critic's grade: the mean support of its sentences, less what the answer leaves unasked. Every column is graded alike, whatever its own self-check found." }, `${graded[shade]} grade ${grade.quality.toFixed(2)}`),
      view.refused && h("span", { class: "chip" }, "○ no answer in the documents")],
    stopped: () => [h("span", { class: "chip part" }, "◐ stopped")],
    failed: () => [h("span", { class: "chip none" }, "○ failed")],
  }[view.status]?.() ?? [];
  // It takes over the key of Stop: who pressed that goes on from what came of it.
  const over = view.status === "running" ? {} : { "data-key": `stop-${view.id}`, tabindex: "-1" };
  return h("div", { class: "cell status row", ...over }, state, changed && h("span", { class: "chip part", title: "Run again to see the new choice." }, "◐ choice changed since"));
}

const inPhase = (view, phase) => lanesOf(view).filter((lane) => lane.phase === phase && (!lane.depth || lane.quoted));

/** The lanes of one phase, on the time scale that all columns share; where no column has more than one, in a line. */
function steps(view, phase, label, end, shown) {
  const number = PHASES.findIndex(([name]) => name === phase);
  const title = `${number ? `${number} · ` : ""}${label}`;
  const lanes = inPhase(view, phase);
  const single = shown.every((one) => !one.view || inPhase(one.view, phase).length < 2);
  const missing = h("small", { class: "none-here" }, view.status === "running" ? "not yet" : "not in this run");
  return h("div", { class: "cell steps", style: { "--phase": `var(--p${number})` } },
    single ? (lanes.length ? step(lanes[0], title, end) : h("div", { class: "step" }, h("h2", {}, title), missing))
      : [h("h2", {}, title), lanes.length ? lanes.map((lane) => step(lane, null, end)) : missing]);
}

function step({ label, spans, quoted, depth }, title, end) {
  const query = spans.map((span) => span.attributes?.query).find(Boolean);
  const bars = spans.map((span) => h("i", { class: `bar ${span.open ? "open" : ""} ${span.error ? "failed" : ""}`, style: { left: share(span.start_s, end), width: share(span.duration_s ?? Math.max(0, end - span.start_s), end) } }));
  return h("div", { class: `step ${depth ? "part" : ""}`, title: [label, query && `“${query}”`].filter(Boolean).join(": ") },
    title ? h("h2", {}, title) : h("span", { class: "name", dir: "auto" }, quoted ? h("q", {}, label) : label),
    h("span", { class: "track", "aria-hidden": "true" }, bars),
    h("span", { class: "num" }, spans.some((span) => span.open) ? "…" : seconds(spans.reduce((sum, span) => sum + span.duration_s, 0))));
}

const share = (value, end) => `${Math.max(0, Math.min(100, (100 * value) / end)).toFixed(2)}%`;

function evidence(view, at, shown, { number, columns, chunk, several }, act) {
  const cited = citedBy(view);
  const elsewhere = view.status === "running" ? [] : [...new Set(shown.flatMap((one) => [...citedBy(one.view)]))].filter((id) => number.has(id) && !rankIn(view, id));
  const first = at > 0 ? shown[0].view : null;
  const square = (id, kind, told, move) => h("span", { class: "place" },
    h("button", { type: "button", class: `sq ${kind} ${cited.has(id) ? "cited" : ""}`, "data-key": `sq-${at}-${id}`, title: told, "aria-label": `Chunk ${number.get(id)}: ${told}`, onclick: () => act.chunk(id) }, String(number.get(id))), move);
  const own = view.evidence.filter((hit) => columns.get(hit.chunk.id) === 1).length;
  return h("div", { class: "cell" }, h("h2", {}, `Evidence ${view.evidence.length || ""}`, several && view.evidence.length > 0 && h("small", {}, own ? ` ${own} of its own` : " all shared")),
    h("div", { class: "squares" },
      view.evidence.map((hit, place) => {
        const { id } = hit.chunk;
        const before = rankIn(first, id);
        const kind = !several ? "" : columns.get(id) > 1 ? "shared" : "own";
        const told = [whereOf(hit.chunk), `rank ${place + 1}`, several && (columns.get(id) > 1 ? "in more than one column" : "in this column alone"), cited.has(id) && "cited"].filter(Boolean).join(", ");
        return square(id, kind, told, before > 0 && moved(before - place - 1));
      }),
      elsewhere.map((id) => square(id, "gone", `${whereOf(chunk.get(id))}, cited elsewhere, not found here`)),
      !view.evidence.length && h("small", {}, view.status === "running" ? "Searching…" : "Nothing was found.")));
}

export const whereOf = (chunk) => `${shortName(chunk.name)}${chunk.places[0] ? ` p.${chunk.places[0].page}` : ""}`;

/** How far a chunk stands from its place in the first column. */
const moved = (by) => by !== 0 && h("small", { class: `move ${by > 0 ? "up" : "down"}`, title: `${Math.abs(by)} ${by > 0 ? "higher" : "lower"} than in the first column` },
  h("span", { "aria-hidden": "true" }, by > 0 ? "▲" : "▼"), String(Math.abs(by)), h("span", { class: "hidden" }, by > 0 ? " higher" : " lower"));

function answer(view, at, compared, shown, { number }, words, act) {
  const difference = compared?.difference;
  const first = titleOf(shown.map((one) => one.column), shown.findIndex((one) => one.compared));
  const body = view.status === "failed" ? h("p", { class: "small" }, view.error ?? "The run failed.")
    : words && difference && !difference.same_answer ? h("p", { class: "text", dir: "auto" }, difference.words.map(([kind, text]) => [kind === "equal" ? text : h(kind === "insert" ? "ins" : "del", {}, text), /\s$/.test(text) ? "" : " "]))
    : view.refused ? h("p", { class: "text" }, view.final_answer)
    : view.sentences.length ? h("p", { class: "text", dir: "auto" }, view.sentences.map((sentence) => written(sentence, number, at, act)))
    : h("p", { class: "text", dir: "auto" }, view.text || h("small", {}, view.status === "running" ? "…" : view.status === "stopped" ? "It was stopped before there was an answer." : "There is no answer."));
  return h("div", { class: "cell answer" }, h("div", { class: "row" }, h("h2", {}, "Answer"),
    difference && (difference.same_answer ? h("span", { class: "chip" }, `＝ as ${first}`)
      : h("button", { type: "button", class: "btn diff", "data-key": `words-${at}`, "aria-pressed": String(words), title: `What changed against ${first}, word by word`, onclick: act.words }, words ? "Show the answer" : `≠ changes against ${first}`))),
  body, view.note && h("p", { class: "small" }, view.note));
}

function written(sentence, number, at, act) {
  const [line, told] = SUPPORT[sentence.support] ?? [];
  return [h("span", { class: line, title: told && `${told}, ${(sentence.probability ?? 0).toFixed(2)}` }, sentence.text), told && h("span", { class: "hidden" }, ` ${told}`),
    sentence.citations.filter((id) => number.has(id)).map((id) => h("button", { type: "button", class: "cite", "data-key": `cite-${at}-${id}-${sentence.text.length}`, "aria-label": `Citation ${number.get(id)}`, onclick: () => act.chunk(id) }, String(number.get(id)))), " "];
}

function totals(view, compared) {
  const { grade } = compared ?? {};
  const usage = view.usage ?? {};
  const calls = usage.model_calls ?? 0;
  const tokens = (usage.input_tokens ?? 0) + (usage.output_tokens ?? 0);
  const live = view.status === "running";
  const pairs = [
    [live ? "…" : seconds(view.seconds ?? 0), "time"], [live ? "…" : String(view.searches ?? 0), view.searches === 1 ? "search" : "searches"],
    [grade?.answered ? `${grade.supported}/${grade.sentences}` : "–", "supported"],
    [live ? "…" : String(calls), calls === 1 ? "model call" : "model calls"], [live ? "…" : tokens.toLocaleString("en"), "tokens"], [live ? "…" : money(calls ? usage.cost : 0), "cost"],
  ];
  return h("div", { class: "cell took" }, h("dl", { class: "totals" }, pairs.map(([value, name]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))));
}

export const money = (dollars) => (dollars === null || dollars === undefined ? "unknown" : dollars === 0 ? "$0" : dollars < 0.01 ? `$${dollars.toFixed(4)}` : `$${dollars.toFixed(2)}`);

function actions(view, column, act) {
  if (view.status === "running") return h("div", {});
  return h("div", { class: "cell row acts" },
    column.plan && h("button", { type: "button", class: "btn", "data-key": `mine-${view.id}`, title: "Ask uses this plan from now on", onclick: () => act.mine(view.id) }, "Make this my plan"),
    h("button", { type: "button", class: "btn", "data-key": `open-${view.id}`, title: "Every step, prompt and page of this run", onclick: () => act.open(view.id) }, "Open"));
}
