/* An answer: sentences underlined by what holds them up, each with its citations. */

import { h, plural, seconds, shortName } from "./dom.js";
import { draftAction } from "./acts.js";
import { draftQuality, healings } from "./healing.js";
import { want, whatToTry } from "./hints.js";
import { insist, numbers, rated, tell } from "./runs.js";

const SUPPORT = {
  fully_supported: { class: "s-full", words: "supported" },
  partially_supported: { class: "s-part", words: "partly supported" },
  no_support: { class: "s-none", words: "no support" },
};

/** Draw a run's answer card. `act(name, value)` reaches the page: "stop", "feedback", "compare", "pays", "hint"; null where there is none.

While the run goes on, the card drawn `before` is drawn into: its foot stays, so that Stop is one button all the time. */
export function answerCard(view, act, before) {
  const running = view.status === "running";
  const body = view.status === "failed" ? failure(view) : view.refused ? refusal(view) : written(view);
  const parts = [body, view.note && h("p", { class: "note" }, view.note)];
  // What came of it takes over the key of Stop, and with that the focus of who pressed it.
  const over = running ? {} : { "data-key": "stop", tabindex: "-1" };
  const wrong = view.status === "done" && (view.refused || view.feedback === "wrong");
  if (!running || before?.ariaBusy !== "true") return h("div", { class: `card a ${view.status}`, "aria-busy": String(running), ...over }, parts, footer(view, act), act && wrong && whatToTry(view, act));
  const foot = before.lastElementChild;
  foot.firstElementChild.textContent = underWay(view);
  while (before.firstChild !== foot) before.firstChild.remove();
  foot.before(...parts.flat(Infinity).filter(Boolean));
  return before;
}

function written(view) {
  if (view.sentences.length) return [h("div", { class: "text", dir: "auto" }, sentencesOf(view)), legend(view)];
  if (view.text) return h("div", { class: "text", dir: "auto" }, view.text, view.status === "running" && h("i", { class: "caret", "aria-hidden": "true" }));
  if (view.status === "running") return h("div", { class: "waiting" }, h("i", { class: "pulse", "aria-hidden": "true" }), stepUnderWay(view));
  return h("p", { class: "small" }, "It was stopped before there was an answer.");
}

/** Each sentence where it stands in the answer, so that line breaks and list marks between sentences stay. */
function sentencesOf(view) {
  const rank = numbers(view);
  const chunks = new Map(view.evidence.map((hit) => [hit.chunk.id, hit.chunk]));
  const parts = [];
  let read = 0;
  view.sentences.forEach((sentence, at) => {
    const start = view.text.indexOf(sentence.text, read);
    if (start >= 0) {
      parts.push(view.text.slice(read, start));
      read = start + sentence.text.length;
    }
    parts.push(drawnSentence(sentence, at, rank, chunks, view.id), " ");
  });
  return parts;
}

function drawnSentence(sentence, at, rank, chunks, run) {
  const support = SUPPORT[sentence.support];
  const sure = sentence.probability === null || sentence.probability === undefined ? "" : `, ${sentence.probability.toFixed(2)}`;
  const title = support ? `Sentence ${at + 1}: ${support.words}${sure}` : null;
  return h("span", { class: "sentence" },
    h("span", { class: support?.class, title }, sentence.text),
    support && h("span", { class: sentence.support === "no_support" ? "small" : "hidden" }, ` ${support.words}`),
    sentence.citations.filter((id) => chunks.has(id)).map((id) => citation(chunks.get(id), rank.get(id), run)));
}

function citation(chunk, number, run) {
  const page = chunk.places[0]?.page;
  const name = shortName(chunk.name);
  const open = () => tell("cite", { run, chunk: chunk.id });
  return h("button", {
    type: "button", class: "cite", "data-chunk": chunk.id, onclick: open,
    title: `${chunk.name}${page ? `, page ${page}` : ""}`,
    // It begins with the words that are seen: who speaks to the browser says those.
    "aria-label": `${number} ${name}${page ? ` p.${page}` : ""}, citation`,
  }, h("span", { class: "name" }, `${number} ${name}`), page ? ` p.${page}` : "");
}

function legend(view) {
  const kinds = Object.keys(SUPPORT).filter((kind) => view.sentences.some((sentence) => sentence.support === kind));
  if (!kinds.length && view.status === "running") return h("p", { class: "legend" }, "Draft; each sentence is being checked.");
  if (!kinds.length) return null;
  return h("p", { class: "legend", "aria-hidden": "true" }, kinds.map((kind) => h("span", {}, h("i", { class: SUPPORT[kind].class }), SUPPORT[kind].words)));
}

function refusal(view) {
  const { looked_for: words = [], searched } = view.refusal ?? {};
  return [
    h("p", { class: "lead" }, view.final_answer || "It is not in your documents."),
    h("p", { class: "small" }, searched === undefined ? "" : `${plural(searched, "document")} searched. `, words.length > 0 && "No evidence speaks of: ",
      words.map((word) => h("span", { class: "chip missing" }, word))),
    view.evidence.length > 0 && h("p", { class: "small" }, "The nearest that was found is shown as evidence."),
  ];
}

const failure = (view) => [h("p", { class: "lead" }, h("span", { "aria-hidden": "true" }, "○ "), "No answer"), h("p", {}, view.error ?? "The run failed.")];

const NAMED = { crag: "Correcting what was found", self_correct: "Improving the answer", heal: "Healing the answer" };
const STEPS = { question: "Reading the question", retrieve: "Searching", sub_queries: "Searching", answer: "Writing the answer", heal: "Checking the answer" };

function stepUnderWay(view) {
  const open = view.spans.filter((span) => span.open).at(-1);
  const named = view.spans.findLast((span) => span.open && NAMED[span.name]);
  return named ? NAMED[named.name] : open ? STEPS[open.phase] ?? "Working" : view.spans.length ? "Working" : "Starting";
}

/** In the foot once there is text; before that it stands in the text's place. */
const underWay = (view) => (view.text || view.sentences.length ? stepUnderWay(view) : "");

function footer(view, act) {
  if (view.status === "running") {
    return h("div", { class: "meta" }, h("small", {}, underWay(view)),
      act && view.at === undefined && h("button", { type: "button", class: "btn end", "data-key": "stop", onclick: ({ currentTarget: button }) => {
        if (button.ariaDisabled) return;
        Object.assign(button, { ariaDisabled: "true", textContent: "Stopping…" });
        insist(() => act("stop", view.id), () => button.isConnected); // it goes when the run ends
      } }, "Stop"));
  }
  const rate = (value, label) => h("button", {
    type: "button", class: "btn", "aria-pressed": String(view.feedback === value), title: value === "good" ? "This answer is good: remember it for questions like it" : "This answer is wrong: see what to try",
    "data-key": value,
    onclick: () => {
      const given = view.feedback === value ? null : value;
      if (given === "wrong") want(view.id);
      rated(view.id, given);
      act("feedback", { run: view.id, value: given });
    },
  }, label);
  return h("div", { class: "meta" }, facts(view), act && view.status !== "failed" && h("span", { class: "row end" }, draftAction(view), rate("good", "Good"), rate("wrong", "Wrong"), beside(view, act)));
}

/** What leads to Compare: this question with another plan, and without each technique in turn. */
function beside(view, act) {
  if (view.status !== "done") return null;
  const to = (name, label, title) => h("button", { type: "button", class: "btn", title, onclick: () => act(name, view.id) }, label);
  return [to("compare", "Compare", "Ask this with another plan, side by side"), to("pays", "What paid?", "What did each technique buy? Ask this again without each in turn")];
}

const SELF_CHECK = "How good the run itself found its answer; Compare has one critic grade every run alike.";

function facts(view) {
  const quality = view.quality_achieved;
  const known = quality !== null && quality !== undefined && !view.refused;
  const grade = quality >= 0.85 ? "full" : quality >= 0.5 ? "part" : "none";
  const times = view.healing_attempts ?? 0;
  const before = draftQuality(view);
  const score = `self-check ${typeof before === "number" && times ? `${before.toFixed(2)} → ` : ""}${known ? quality.toFixed(2) : ""}${times ? `, healed ${["once", "twice"][times - 1] ?? `${times} times`}` : ""}`;
  return [
    view.status === "stopped" && h("span", { class: "chip part" }, "◐ stopped"),
    known && (healings(view) ? h("button", { type: "button", class: `chip ${grade}`, title: `${SELF_CHECK} See the draft and what changed.`, onclick: () => tell("show", { run: view.id, tab: "healing" }) }, score)
      : h("span", { class: `chip ${grade}`, title: [SELF_CHECK, ...(view.issues ?? [])].join(" ") }, score)),
    h("span", { class: "chip" }, plural(view.searches ?? 0, "search", "searches")),
    h("span", { class: "chip" }, plural(view.usage?.model_calls ?? 0, "model call")),
    h("span", { class: "chip num" }, seconds(view.seconds ?? 0)),
  ];
}
