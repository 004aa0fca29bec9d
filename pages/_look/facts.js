/* What a step noted, in words: queries and hypotheticals as quotations, terms as chips, chunks by their number. */

import { h, seconds, words } from "./dom.js";
import { labelOf, numbers, tell } from "./runs.js";

/* What another part of the page shows better. */
const ELSEWHERE = new Set(["scores", "lane", "hop", "input_tokens", "output_tokens", "engine"]);
const QUOTED = new Set(["query", "queries", "focused", "suggested", "hypotheticals", "question"]);
const CHIPS = new Set(["terms", "missing", "gaps", "understood", "by_words", "on", "changes"]);

/** The facts of the spans of a lane and of the calls under them, as a list; empty where there is none. */
export function factsOf(view, spans, calls = []) {
  const told = spans.flatMap((span, at) => {
    const pairs = Object.entries(span.attributes ?? {}).filter(([name, value]) => !ELSEWHERE.has(name) && !isEmpty(value));
    const facts = pairs.map(([name, value]) => [words(name), shown(view, name, value)]).filter(([, drawn]) => drawn);
    if (span.error) facts.unshift(["error", span.error]);
    return spans.length > 1 && facts.length ? [[h("b", {}, spans.every(({ name }) => name === span.name) ? `${at + 1}.` : labelOf(view, span.name)), ""], ...facts] : facts;
  });
  const asked = calls.filter(({ name, open }) => name.startsWith("llm.") && !open);
  if (asked.length) told.push(["asked", asked.map((call) => h("span", { class: "chip" }, `${words(call.name.slice(4))} ${seconds(call.duration_s)}`))]);
  return told.length ? [h("dl", {}, told.map(([name, value]) => (value === "" ? h("dt", { class: "of" }, name) : [h("dt", {}, name), h("dd", {}, value)])))] : [];
}

const isEmpty = (value) => value === null || value === "" || (Array.isArray(value) && !value.length);

function shown(view, name, value) {
  if (name === "chunks" && Array.isArray(value)) return chunkNumbers(view, value);
  if (QUOTED.has(name)) return [value].flat().map((text) => h("q", { class: "said", dir: "auto" }, text));
  if (CHIPS.has(name)) return [value].flat().map((text) => h("span", { class: "chip", dir: "auto" }, text));
  if (Array.isArray(value)) return value.every((one) => typeof one !== "object") ? value.join(", ") : null;
  if (typeof value === "object") return null;
  if (typeof value === "boolean") return value ? "yes" : "no";
  return typeof value === "number" && !Number.isInteger(value) ? value.toFixed(2) : String(value);
}

/** Chunks by their number in the evidence, each of which opens its page; those that were left out are counted. */
export function chunkNumbers(view, ids) {
  const rank = numbers(view);
  const kept = ids.filter((id) => rank.has(id));
  const left = ids.length - kept.length;
  return [kept.map((id) => h("button", { type: "button", class: "no", onclick: () => tell("cite", { run: view.id, chunk: id }), "aria-label": `Evidence ${rank.get(id)}: open its page` }, String(rank.get(id)))),
    left > 0 && h("small", {}, ` and ${left} that did not stay`)];
}
