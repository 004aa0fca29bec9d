/* The run as a waterfall: a lane a step, a colour a phase; what was skipped is hollow and says why. */

import { h, seconds } from "./dom.js";

const PHASES = { question: [0, "question"], retrieve: [1, "retrieve"], sub_queries: [2, "sub-questions"], answer: [3, "answer"], heal: [4, "check"] };

/** Draw the lanes of a view; `now` is the seconds since it began, for what is still open. */
export function lanes(view, now) {
  const steps = lanesOf(view.spans);
  const end = Math.max(view.status === "running" ? now : 0, ...view.spans.map((span) => span.start_s + (span.duration_s ?? 0)), 1e-3);
  const off = switchedOff(view);
  return [...steps.map((step) => lane(step, end, now)), ...skipped(view).map(([name, use]) => skippedLane(name, use)),
    ...(off.length ? [h("p", { class: "switched-off" }, `Switched off: ${off.map(words).join(", ")}`)] : [])];
}

/** The steps of a run: the outermost spans; where one holds all others, the spans under it. */
export function lanesOf(spans) {
  const ordered = [...spans].sort((a, b) => a.start_s - b.start_s || a.span_id - b.span_id);
  let top = ordered.filter((span) => span.parent_id === null || span.parent_id === undefined);
  if (top.length === 1 && top[0].name === "run") top = ordered.filter((span) => span.parent_id === top[0].span_id);
  return top.map((span) => ({ span, inner: ordered.filter((other) => other.parent_id === span.span_id) }));
}

const isOn = (view, name) => name in (view.plan?.techniques ?? {});
const idle = (view) => Object.entries(view.techniques ?? {}).filter(([, use]) => !use.ran);

/** The techniques of the plan that had nothing to do, each with what became of it. */
export const skipped = (view) => idle(view).filter(([name]) => isOn(view, name));
const switchedOff = (view) => idle(view).filter(([name]) => !isOn(view, name)).map(([name]) => name);

/** One line on a run: phases, steps, how many were skipped. */
export function summary(view) {
  const steps = lanesOf(view.spans);
  const phases = new Set(steps.map(({ span }) => span.phase)).size;
  const left = skipped(view).length;
  const count = (number, word) => `${number} ${word}${number === 1 ? "" : "s"}`;
  return steps.length ? `${count(phases, "phase")}, ${count(steps.length, "step")}${left ? `, ${left} skipped` : ""}` : "";
}

function lane({ span, inner }, end, now) {
  const [number] = PHASES[span.phase] ?? [0];
  const lasted = span.open ? Math.max(0, now - span.start_s) : span.duration_s;
  const label = words(span.name);
  const bar = (one, kind) => h("i", {
    class: `bar ${kind} ${one.open ? "open" : ""} ${one.error ? "failed" : ""}`, title: told(one),
    style: { left: percent(one.start_s / end), width: percent((one.open ? Math.max(0, now - one.start_s) : one.duration_s) / end), "--phase": `var(--p${number})` },
  });
  const parts = inner.map((one) => bar(one, "inner"));
  const body = [h("span", { class: "label", style: { color: `var(--p${number})` } }, `${number ? `${number} · ` : ""}${label}`),
    h("span", { class: "track" }, bar(span, ""), parts), h("span", { class: "num" }, span.open ? "…" : seconds(lasted))];
  const facts = factsOf(span, inner);
  if (!facts.length) return h("div", { class: "lane" }, body);
  return h("details", { class: "step", "data-span": String(span.span_id) }, h("summary", { class: "lane", title: span.error }, body), h("dl", {}, facts));
}

function skippedLane(name, use) {
  return h("div", { class: "lane off", title: use.why }, h("span", { class: "label" }, words(name)),
    h("span", { class: "track" }, h("i", { class: "bar skip", style: { left: "0", width: "7%" } }), h("span", { class: "why" }, `skipped: ${use.why}`)), h("span", { class: "num" }, "–"));
}

function factsOf(span, inner) {
  const pairs = Object.entries(span.attributes ?? {}).filter(([, value]) => value !== null && value !== "");
  if (span.error) pairs.unshift(["error", span.error]);
  for (const one of inner) pairs.push([words(one.name), `${seconds(one.duration_s ?? 0)}${brief(one)}`]);
  return pairs.flatMap(([name, value]) => [h("dt", {}, words(name)), h("dd", {}, shown(value))]);
}

const brief = (span) => Object.entries(span.attributes ?? {}).filter(([, value]) => ["number", "string", "boolean"].includes(typeof value)).slice(0, 4).map(([name, value]) => ` · ${words(name)} ${shown(value)}`).join("");
const shown = (value) => (typeof value === "string" ? value : typeof value === "number" && !Number.isInteger(value) ? value.toFixed(3) : JSON.stringify(value));
const told = (span) => (span.error ? span.error : `${words(span.name)}${span.open ? "" : `, ${seconds(span.duration_s)}`}`);
const words = (name) => name.replaceAll("_", " ").replaceAll(".", " › ");
const percent = (share) => `${Math.max(0, Math.min(100, share * 100)).toFixed(2)}%`;
