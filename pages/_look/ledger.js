/* The ledger: a row a technique, with what the answer, its support, its evidence and its cost are with it and without. */

import { money, titleOf } from "./columns.js";
import { capital, h, plural, seconds } from "./dom.js";

const VERDICTS = { "pays here": ["full", "▲"], "no difference": ["", "＝"], "costs here": ["none", "▼"] };
const STATES = { waiting: ["", "… waiting"], running: ["on", "● asking"], stopped: ["part", "◐ stopped"], failed: ["none", "○ failed"] };

/** Follow the ledger that `state.data` names, and read what one would take where none was made. */
export function watchLedger(state, changed) {
  const { ledger, made } = state.data;
  const wanted = ledger && made ? ledger : "";
  const over = state.record && state.record.state !== "running";
  // What is made anew begins to run again: it is followed anew.
  if (wanted === (state.watched ?? "") && !(over && state.asking)) return;
  state.unwatch?.();
  Object.assign(state, { watched: wanted, record: null, asking: false });
  if (!wanted) return;
  const source = new EventSource(`/v1/runs/${encodeURIComponent(wanted)}/ledger/events`);
  source.onmessage = ({ data }) => {
    state.record = JSON.parse(data);
    if (state.record.state !== "running") source.close();
    changed();
  };
  source.onerror = () => source.readyState === EventSource.CLOSED && changed();
  state.unwatch = () => source.close();
}

/** Draw the card: what it would take, or what came of it. Nothing where there is no run to ask about. */
export function ledgerCard(state, changed) {
  const finished = state.columns.filter(({ run }) => run && state.views.get(run)?.status === "done");
  const { record, data } = state;
  if (!record && !data.ledger && !finished.length) return [];
  const of = state.of ?? (record?.run || data.ledger || finished[0]?.run);
  const shown = record && record.run === of ? record : null;
  return [
    h("div", { class: "row head" }, h("h2", {}, "What did each technique buy?"), finished.length > 1 && choice(state, finished, of, shown?.base, changed), shown && again(state, shown)),
    ...(shown ? table(state, shown) : offer(state, of, changed)),
  ].filter(Boolean);
}

function choice(state, finished, of, base, changed) {
  return h("span", { class: "segs", role: "group", "aria-label": "Of which column" }, finished.map(({ run }) =>
    h("button", { type: "button", class: "btn", "data-key": `of-${run}`, "aria-pressed": String(run === of || run === base), onclick: () => { state.of = run; changed(); } }, titleOf(state.columns, state.columns.findIndex((one) => one.run === run)))));
}

/** What a ledger will take, before it is begun. */
function offer(state, run, changed) {
  const known = (state.estimates ??= new Map());
  if (!known.has(run)) {
    known.set(run, null);
    fetch(`/v1/runs/${encodeURIComponent(run)}/ledger`).then((answer) => answer.json()).catch(() => ({ error: "The server does not answer." })).then((told) => {
      known.set(run, told);
      changed();
    });
  }
  const told = known.get(run);
  const intro = h("p", {}, "The same question again without each technique that ran, one at a time. One question is a hint, not a proof.");
  if (!told) return [intro];
  if (told.error) return [intro, h("p", { class: "small" }, told.error)];
  if (!told.runs) return [intro, h("p", { class: "small" }, "No technique of this plan that can be switched off ran.")];
  return [intro, h("div", { class: "row" },
    h("button", { type: "button", class: "btn go", "data-key": "ledger", onclick: () => begin(state, run) }, `Ask ${plural(told.runs, "time")} more`),
    h("small", {}, taking(told)))];
}

/* They have the key of the button that begins it, so that the focus goes from one to the other. */
const again = (state, { run, state: now }) => h("span", { class: "end" }, now === "running"
  ? h("button", { type: "button", class: "btn", "data-key": "ledger", onclick: () => state.tell("unledger", run) }, "Stop")
  : h("button", { type: "button", class: "btn", "data-key": "ledger", onclick: () => begin(state, run) }, "Ask again"));

function begin(state, run) {
  Object.assign(state, { asking: true, of: run });
  state.tell("ledger", run);
}

const taking = ({ seconds: lasts, model_calls: calls, tokens, money: dollars }) =>
  [`about ${seconds(lasts)}`, plural(calls, "model call"), calls > 0 && `${tokens.toLocaleString("en")} tokens`, calls > 0 && (dollars === null ? "price unknown" : `about ${money(dollars)}`)].filter(Boolean).join(", ");

function table(state, record) {
  const { labels } = state.data;
  const shown = record.entries.filter((entry) => entry.state !== "not_run");
  const left = record.entries.filter((entry) => entry.state === "not_run");
  const judged = shown.filter((entry) => entry.verdict);
  const paid = judged.some(({ difference }) => difference.more.model_calls || difference.more.tokens) || record.cost.model_calls > 0;
  const columns = ["technique", "verdict", "grade it bought", "supported", "evidence", "answer without it", "time it took", ...(paid ? ["model calls", "tokens", "cost"] : []), "side by side"];
  const running = record.state === "running";
  return [
    h("p", { class: "intro" }, `${capital(record.plan)} asked again without each one in turn; left of an arrow with it, right without. One question is a hint, not a proof.`),
    h("p", { class: "sum", role: "status" }, running ? `${judged.length} of ${shown.length} asked` : summary(judged, labels, record.state)),
    shown.length > 0 && h("div", { class: "tablebox", tabindex: "0", role: "region", "aria-label": "The ledger" },
      h("table", {}, h("thead", {}, h("tr", {}, columns.map((name) => h("th", { scope: "col" }, name)))),
        h("tbody", {}, shown.map((entry) => row(state, record, entry, labels[entry.technique] ?? entry.technique, paid, columns.length))))),
    left.length > 0 && h("details", {}, h("summary", {}, `${plural(left.length, "technique")} did not run`), h("dl", {}, left.map(({ technique, why }) => [h("dt", {}, labels[technique] ?? technique), h("dd", {}, why)]))),
    h("details", {}, h("summary", {}, "How this is judged"), h("p", {}, "No right answer is known here. One critic judges every run alike: how far what a sentence cites holds it, and how much of the question the answer takes up. That is the grade; the self-check that a run shows is its own, and is no part of it. A technique pays here when the grade with it is higher by 0.05 or more, or when only with it there is an answer that its citations hold; it costs here the other way round. Anything less is no difference. Time and calls are shown beside the verdict and are no part of it; a time that is within what two runs with everything differ by is told as ≈ 0.")),
  ];
}

function summary(judged, labels, state) {
  const named = (verdict) => judged.filter((entry) => entry.verdict === verdict).map(({ technique }) => labels[technique] ?? technique);
  const told = [["pays here", "Pays here"], ["costs here", "Costs here"], ["no difference", "No difference"]].map(([verdict, text]) => [text, named(verdict)]).filter(([, names]) => names.length);
  return [state === "stopped" && "Stopped. ", told.length ? told.map(([text, names]) => `${text}: ${names.join(", ")}`).join(". ") + "." : "No technique was judged."];
}

function row(state, record, entry, label, paid, width) {
  const name = h("th", { scope: "row" }, label);
  if (!entry.verdict) {
    const [shade, text] = STATES[entry.state];
    return h("tr", {}, name, h("td", { colspan: width - 1 }, h("span", { class: `chip ${shade}` }, text), entry.state === "failed" && h("small", {}, ` ${entry.why}`)));
  }
  const { grade, difference } = entry;
  const [shade, sign] = VERDICTS[entry.verdict];
  const { more } = difference;
  return h("tr", {}, name,
    h("td", {}, h("span", { class: `chip ${shade}`, title: entry.reason }, `${sign} ${entry.verdict}`), (entry.verdict !== "no difference" || !grade.answered) && h("small", { class: "why" }, entry.reason)),
    h("td", {}, bought(record.grade, grade)), h("td", {}, supported(record.grade, grade)), h("td", {}, found(difference)),
    h("td", {}, answered(difference)),
    h("td", { class: "num" }, took(-more.seconds, record.noise_s)), paid && [h("td", { class: "num" }, signed(-more.model_calls, String)), h("td", { class: "num" }, signed(-more.tokens, (count) => count.toLocaleString("en"))), h("td", { class: "num" }, more.money === null ? "–" : signed(-more.money, money))],
    h("td", {}, h("button", { type: "button", class: "btn", "data-key": `pair-${entry.technique}`, "aria-label": `See both: with and without ${label}`, title: "With and without it, side by side", onclick: () => pair(state, [record.base, entry.run]) }, "See both")));
}

/** Show two runs as the columns; who asked for them goes on from there. */
function pair(state, runs) {
  state.paired = true;
  state.tell("pair", runs);
}

/** The grade with it less that without, as a bar to the right where it bought some, to the left where it cost some. */
function bought(with_, without) {
  if (with_.answered !== without.answered) return with_.answered ? "an answer" : "no answer";
  if (!with_.answered) return "–";
  const gap = with_.quality - without.quality;
  const side = gap > 0 ? "left" : "right";
  return h("span", { class: "gap" }, h("span", { class: "axis", "aria-hidden": "true" }, Math.abs(gap) >= 0.005 && h("i", { class: gap > 0 ? "up" : "down", style: { [side]: "50%", width: `${Math.min(50, 150 * Math.abs(gap))}%` } })),
    h("span", { class: "num" }, Math.abs(gap) < 0.005 ? "0" : `${gap > 0 ? "+" : "−"}${Math.abs(gap).toFixed(2)}`));
}

function supported(with_, without) {
  const told = ({ answered: there, supported: held, sentences }) => (there ? `${held}/${sentences}` : "none");
  return h("span", { title: `Fully supported sentences; mean probability ${with_.probability.toFixed(2)} with it, ${without.probability.toFixed(2)} without` }, `${told(with_)} → ${told(without)}`);
}

/** What the evidence is without it: chunks that are no longer found, and new ones; what is cited is told apart. */
function found({ lost, gained, cited_lost: gone, cited_moves: moves }) {
  const told = [lost.length && `−${lost.length}`, gained.length && `+${gained.length}`].filter(Boolean).join(" ") || "same chunks";
  const moved = moves.map(({ before, after }) => `${before} → ${after}`).join(", ");
  return [h("span", { title: `Without it ${plural(lost.length, "chunk")} not found any more, ${plural(gained.length, "chunk")} new` }, told),
    gone.length > 0 ? h("small", { class: "why" }, `${plural(gone.length, "cited chunk")} not found`) : moved && h("small", { class: "why" }, `cited: rank ${moved}`)];
}

function answered({ same_answer: same, words: diff }) {
  if (same) return "the same";
  return h("details", { class: "diff" }, h("summary", {}, "other words"), h("p", { class: "text", dir: "auto" }, diff.map(([kind, text]) => [kind === "equal" ? text : h(kind === "insert" ? "ins" : "del", {}, text), /\s$/.test(text) ? "" : " "])));
}

/** Seconds; where the run with everything differs as much from itself, nothing can be said. */
function took(value, noise) {
  if (noise === null || Math.abs(value) > noise) return signed(value, seconds);
  return h("span", { title: `${signed(value, seconds)}: two runs with everything differed by ${seconds(noise)}` }, "≈ 0");
}

/** What it took more than the run without it; where it took less, that is said. */
const signed = (value, text) => (!value ? "0" : `${value > 0 ? "" : "−"}${text(Math.abs(value))}`);
