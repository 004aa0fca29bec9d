/* The run as a waterfall: a lane a step, a colour a phase; what ran at the same time stands under each other, what was
   skipped is hollow and says why. */

import { stepAction } from "./acts.js";
import { h, plural, seconds, words } from "./dom.js";
import { factsOf } from "./facts.js";
import { labelOf } from "./runs.js";

const PHASES = { question: 0, retrieve: 1, sub_queries: 2, answer: 3, heal: 4 };

/** The lanes of a view. Where their bars stand is for the style of what they are in: what changes while a run goes on
    is `timesOf` alone, and a lane changes with its own step. */
export function lanes(view) {
  const left = skipped(view);
  const asked = lanesOf(view).map((one) => lane(view, one, one.phase === "question" ? left.filter(({ name }) => PHASE_OF_QUESTION.has(name)) : []));
  return [...asked, skippedLanes(view, left)].filter(Boolean);
}

/** The style for what holds the lanes; `now` is the seconds since the run began, for what is still open. */
export const timesOf = (view, now) => ({ "--now": now, "--end": endOf(view, now) });

const endOf = (view, now) => Math.max(view.lasts ?? 0, view.status === "running" ? now : 0, ...view.spans.map((span) => span.start_s + (span.duration_s ?? 0)), 1e-3);

/* What is skipped of these leaves a hollow mark on the lane of the question; the others have no time of their own. */
const PHASE_OF_QUESTION = new Set(["auto", "rewrite", "gate", "route"]);

/* A step that gives a reason had nothing to do; those of the question give one for what they chose. */
const isIdle = (span) => span.phase !== "question" && Boolean(span.attributes?.why);

const isCall = (span) => span.name.startsWith("llm.");

/** The lanes of a run as [{key, phase, label, spans, calls, depth}]: the steps, under each what it did in parts. */
export function lanesOf(view) {
  const ordered = [...view.spans].sort((a, b) => a.start_s - b.start_s || a.span_id - b.span_id);
  const under = Map.groupBy(ordered, (span) => span.parent_id ?? null);
  const children = (span) => under.get(span.span_id) ?? [];
  const steps = under.get(null) ?? [];
  const all = [];
  const question = steps.filter((span) => span.phase === "question");
  if (question.length) all.push({ key: "question", phase: "question", label: "Question", spans: question });
  const hops = steps.filter((span) => span.name === "retrieve");
  const many = hops.length > 1 || hops.some((hop) => children(hop).some(({ name }) => name === "multi_hop"));
  for (const [phase, inPhase] of Map.groupBy(steps.filter((span) => span.phase !== "question"), (span) => span.phase)) {
    // Hops have a lane each, the rounds of another step one together.
    for (const spans of Map.groupBy(inPhase, (span) => (span.name === "retrieve" ? span.span_id : span.name)).values()) {
      const [span] = spans;
      all.push({ key: String(span.span_id), phase, label: span.name === "retrieve" && many ? `hop ${hops.indexOf(span) + 1}` : labelOf(view, span.name), spans });
      for (const [at, part] of spans.flatMap((one) => children(one).filter(({ name }) => name === "sub_query").sort(byLane)).entries()) {
        all.push({ key: String(part.span_id), phase, label: part.attributes?.query ?? `part ${at + 1}`, quoted: true, spans: [part], depth: 1 });
      }
    }
    // A technique that each hop uses has one lane for all of them: what runs at the same time is seen under the hops.
    const parts = inPhase.flatMap(children).filter((span) => !isCall(span) && span.name !== "sub_query");
    for (const [name, spans] of Map.groupBy(parts, (span) => span.name)) {
      all.push({ key: `${phase}-${name}`, phase, label: labelOf(view, name), spans, depth: 1 });
    }
  }
  return all.map((one) => ({ depth: 0, ...one, calls: one.spans.flatMap(children) }));
}

const byLane = (one, other) => (one.attributes?.lane ?? 0) - (other.attributes?.lane ?? 0) || one.span_id - other.span_id;

const idle = (view) => Object.entries(view.techniques ?? {}).filter(([, use]) => !use.ran).map(([name, use]) => ({ name, ...use }));

/** The techniques of the plan that had nothing to do, each with what became of it. */
export const skipped = (view) => idle(view).filter(({ name }) => name in (view.plan?.techniques ?? {}));

/** One line on a run: phases, steps, how many were skipped. */
export function summary(view) {
  const steps = view.spans.filter((span) => (span.parent_id ?? null) === null);
  const phases = new Set(steps.map((span) => span.phase)).size;
  const left = skipped(view).length;
  return steps.length ? [plural(phases, "phase"), plural(steps.length, "step"), left && `${left} skipped`].filter(Boolean).join(", ") : "";
}

function lane(view, { key, phase, label, quoted, spans, calls, depth }, left) {
  const number = PHASES[phase] ?? 0;
  const bar = (span, kind, row) => h("i", {
    class: `bar ${kind} ${span.span_id < view.branch?.span ? "taken" : ""} ${span.open ? "open" : ""} ${span.error ? "failed" : ""} ${!kind && isIdle(span) ? "idle" : ""}`, title: told(view, span),
    style: { "--from": span.start_s, "--for": span.duration_s ?? 0, ...(row === undefined ? {} : { "--row": row }) },
  });
  const why = spans.length === 1 && isIdle(spans[0]) && spans[0].attributes.why;
  const rows = stacked(calls.filter((call) => isCall(call) || call.attributes?.lane !== undefined));
  const after = spans.at(-1).start_s + (spans.at(-1).duration_s ?? 0);
  const early = after < endOf(view, 0) / 2;
  const body = [
    h("span", { class: "label", title: label, dir: "auto" }, number && !depth ? `${number} · ` : "", quoted ? h("q", {}, label) : label),
    h("span", { class: "track" }, spans.map((span) => bar(span, "")), rows.map(([call, row]) => bar(call, "inner", row)),
      left.map(({ why: reason, name }, at) => h("i", { class: "bar skip", title: `${labelOf(view, name)} was skipped: ${reason}`, style: { "--from": after, "--shift": `${4 + at * 22}px` } })),
      why && h("span", { class: `why ${early ? "after" : "before"}`, style: { "--from": early ? after : spans[0].start_s } }, why)),
    h("span", { class: "num" }, spans.some((span) => span.open) ? "…" : seconds(spans.reduce((sum, span) => sum + span.duration_s, 0)))];
  const facts = factsOf(view, spans, calls);
  const kind = `lane ${depth ? "part" : ""}`;
  const colour = { "--phase": `var(--p${number})` };
  if (!facts.length) return stepAction(view, spans, h("div", { class: kind, style: colour }, body));
  return stepAction(view, spans, h("details", { class: "step", "data-lane": key, style: colour }, h("summary", { class: kind, "data-key": key, title: spans.find((span) => span.error)?.error }, body), facts));
}

/** Calls with the row that each is drawn in, so that those at the same time do not hide each other; three at most. */
function stacked(calls) {
  const ends = [];
  return calls.map((call) => {
    let row = ends.findIndex((end) => end <= call.start_s);
    if (row < 0) row = Math.min(ends.length, 2);
    ends[row] = call.start_s + (call.duration_s ?? Infinity);
    return [call, row];
  });
}

function skippedLanes(view, left) {
  const off = idle(view).filter(({ name }) => !(name in (view.plan?.techniques ?? {})));
  if (!left.length && !off.length) return null;
  return h("details", { class: "step skipped", "data-lane": "skipped" },
    h("summary", { class: "lane off", "data-key": "skipped" }, h("span", { class: "label" }, `${left.length} skipped`), h("span", { class: "names" }, left.map(({ name }) => h("span", {}, h("i", { class: "hollow", "aria-hidden": "true" }), labelOf(view, name))))),
    h("dl", {}, left.map(({ name, why }) => [h("dt", {}, labelOf(view, name)), h("dd", {}, why)]),
      off.length > 0 && [h("dt", {}, "Switched off"), h("dd", {}, off.map(({ name }) => labelOf(view, name)).join(", "))]));
}

const told = (view, span) => (span.error ? span.error : `${isCall(span) ? words(span.name.slice(4)) : labelOf(view, span.name)}${span.open ? "" : `, ${seconds(span.duration_s)}`}${span.span_id < view.branch?.span ? ", before the branch" : ""}`);
