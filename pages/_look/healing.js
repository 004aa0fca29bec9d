/* Healing: the draft and each attempt side by side, with what changed word by word, why, and the self-check of each. */

import { h, svg } from "./dom.js";
import { chunkNumbers } from "./facts.js";
import { graded } from "./runs.js";

const TARGET = 0.85;
const CURVE = { width: 190, height: 36, edge: 6 };

const spansOf = (view, name) => view.spans.filter((span) => span.name === name && typeof span.attributes?.answer === "string").map(({ attributes }) => attributes);
const attemptsOf = (view) => spansOf(view, "heal").sort((one, other) => one.attempt - other.attempt);
const versionsOf = (view) => spansOf(view, "self_correct").sort((one, other) => one.version - other.version);

/** How many attempts and versions a run has beside its draft. */
export const healings = (view) => attemptsOf(view).length + Math.max(0, versionsOf(view).length - 1);

/** The self-check before the first attempt; undefined where nothing was healed. */
export const draftQuality = (view) => attemptsOf(view)[0]?.quality_before;

export function healing(view) {
  return [...healed(view, attemptsOf(view)), ...refined(versionsOf(view))];
}

function healed(view, attempts) {
  if (!attempts.length) return [];
  const target = view.plan?.techniques?.heal?.quality_target ?? TARGET;
  const shown = attempts.findLast(({ kept }) => kept);
  const [first] = attempts;
  const draft = { title: "Draft", quality: first.quality_before, shown: !shown, body: first.diff?.length ? first.diff.filter(([op]) => opOf(op) !== "ins").map(([, text]) => text).join("") : "", issues: first.issues ?? [] };
  return [
    h("div", { class: "row head" }, h("h2", {}, "Healing"), curve([first.quality_before, ...attempts.map(({ quality_after: after }) => after)], target),
      h("small", {}, `self-check by attempt; the dashed line is the target ${target.toFixed(2)}`)),
    h("div", { class: "columns" }, column(draft, target, draft.issues.length > 0 && h("ul", { class: "told" }, draft.issues.map((issue) => h("li", { dir: "auto" }, h("span", { "aria-hidden": "true" }, "○ "), issue)))),
      attempts.map((attempt) => column({
        title: `Attempt ${attempt.attempt}`, quality: attempt.quality_after, shown: attempt === shown, searched: attempt.query,
        body: attempt.diff?.length ? drawnDiff(attempt.diff) : attempt.answer, dropped: !attempt.kept,
      }, target, healedBy(view, attempt)))),
  ];
}

function refined(versions) {
  if (versions.length < 2) return [];
  const best = versions.findLast(({ kept }) => kept);
  return [h("div", { class: "row head" }, h("h2", {}, "Self-correction"), h("small", {}, "each version, and what its critic said of it")),
    h("div", { class: "columns" }, versions.map((one) => column(
      { title: `Version ${one.version}`, shown: one === best, body: one.answer, scores: one.scores }, TARGET, one.feedback ? h("p", { class: "told", dir: "auto" }, one.feedback) : null)))];
}

function column({ title, quality, shown, searched, body, dropped, scores }, target, below) {
  const grade = quality >= target ? "full" : quality >= target - 0.25 ? "part" : "none";
  return h("article", { class: `card col ${shown ? "shown" : ""}`, "aria-label": title },
    h("div", { class: "row" }, h("h3", {}, title),
      typeof quality === "number" && h("span", { class: `chip ${grade}` }, `${graded[grade]} ${quality.toFixed(2)}${shown ? ", shown" : ""}`),
      typeof quality !== "number" && shown && h("span", { class: "chip full" }, "● kept"),
      dropped && h("span", { class: "chip" }, "not better: not shown"),
      Object.entries(scores ?? {}).map(([name, value]) => h("span", { class: "chip" }, `${name} ${Number(value).toFixed(2)}`))),
    searched && h("small", {}, "searched: ", h("q", { dir: "auto" }, searched)),
    h("p", { class: "text", dir: "auto" }, body), below && [h("hr", {}), below]);
}

function healedBy(view, { healed: cured = [], issues = [] }) {
  const done = Map.groupBy(cured, ({ issue }) => issue);
  const open = issues.filter((issue) => !done.has(issue));
  return done.size + open.length > 0 && h("ul", { class: "told" },
    [...done].map(([issue, by]) => h("li", { dir: "auto" }, h("span", { class: "good", "aria-hidden": "true" }, "● "), h("span", { class: "hidden" }, "healed: "), issue, " ", chunkNumbers(view, by.map(({ chunk }) => chunk).filter(Boolean)))),
    open.map((issue) => h("li", { dir: "auto" }, h("span", { "aria-hidden": "true" }, "○ "), h("span", { class: "hidden" }, "open: "), issue)));
}

const opOf = (op) => ({ i: "ins", "+": "ins", d: "del", "-": "del" })[op[0]] ?? "";

const drawnDiff = (diff) => diff.map(([op, text]) => (opOf(op) ? h(opOf(op), {}, text) : text));

/** The self-check of the draft and of each attempt, with the target as a dashed line. */
function curve(qualities, target) {
  const known = qualities.filter((quality) => typeof quality === "number");
  const low = Math.min(...known, target) - 0.05;
  const high = Math.max(...known, target) + 0.05;
  const { width, height, edge } = CURVE;
  const x = (at) => edge + (at * (width - 2 * edge)) / Math.max(1, known.length - 1);
  const y = (quality) => height - edge - ((quality - low) / (high - low)) * (height - 2 * edge);
  return svg("svg", { class: "curve", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": `Self-check ${known.map((quality) => quality.toFixed(2)).join(", then ")}; target ${target.toFixed(2)}` },
    svg("line", { class: "target", x1: 0, x2: width, y1: y(target), y2: y(target) }),
    svg("polyline", { points: known.map((quality, at) => `${x(at).toFixed(1)},${y(quality).toFixed(1)}`).join(" ") }),
    known.map((quality, at) => svg("circle", { cx: x(at), cy: y(quality), r: 3.5 })));
}
