/* Corrective retrieval: its verdict on what was found, the strips that were kept and struck, and what came from the web. */

import { verdictAction } from "./acts.js";
import { h, outside, plural, shortName } from "./dom.js";
import { graded, numbers, tell, urlOf } from "./runs.js";

const VERDICTS = { correct: "full", ambiguous: "part", incorrect: "none" };

const corrected = (view) => view.spans.filter((span) => span.name === "crag" && span.attributes?.verdict);

export const hasCorrection = (view) => corrected(view).length > 0;

export const correction = (view) => corrected(view).map(({ attributes }) => card(view, attributes));

function card(view, { verdict, share, chunks = [], strips = [], web = [], note }) {
  const grade = VERDICTS[verdict] ?? "";
  const relevant = chunks.filter((chunk) => chunk.relevant).length;
  const said = [strips.length > 0 && `refined to strips, ${strips.filter(({ kept }) => kept).length} of ${strips.length} kept`, web.length > 0 && `${plural(web.length, "page")} of the web added`, note].filter(Boolean);
  return h("section", { class: "card strips", "aria-label": "Corrective retrieval" },
    h("div", { class: "row head" }, h("h2", {}, "Corrective retrieval"),
      h("span", { class: `chip ${grade}`, title: measured(share, chunks) }, `${graded[grade] ?? ""} ${verdict}: ${relevant} of ${plural(chunks.length, "chunk")} relevant`),
      h("small", {}, said.join("; ")), verdictAction(view)),
    strips.length > 0 && h("ol", {}, strips.map((strip) => drawnStrip(view, strip))),
    web.length > 0 && h("div", { class: "web" }, h("h3", {}, "From the web"), h("ul", {}, web.map(({ url, title }) => h("li", {}, h("b", { dir: "auto" }, title || "No title"), " ", outside(url))))));
}

/* What the verdict goes by, whichever of the two the plan says. */
function measured(share, chunks) {
  const best = chunks.length > 0 && `Best chunk: ${Math.max(...chunks.map(({ score }) => score)).toFixed(2)}`;
  return [best, typeof share === "number" && `share of relevant chunks: ${share.toFixed(2)}`].filter(Boolean).join("; ") || null;
}

function drawnStrip(view, { chunk: id, text, score, kept }) {
  const rank = numbers(view).get(id);
  const chunk = view.evidence.find((hit) => hit.chunk.id === id)?.chunk;
  const page = chunk?.places[0]?.page;
  const from = chunk && `${rank} ${urlOf(chunk) ? "web" : shortName(chunk.name)}${page ? ` p.${page}` : ""}`;
  return h("li", { class: kept ? (score >= 0.7 ? "full" : "part") : "dropped" },
    h("span", { class: "num" }, typeof score === "number" ? score.toFixed(2) : "–"), h("span", { class: "hidden" }, kept ? "kept: " : "dropped: "), h("span", { class: "words", dir: "auto" }, text),
    from && page ? h("button", { type: "button", class: "bare from", onclick: () => tell("cite", { run: view.id, chunk: id }) }, from) : h("small", { class: "from" }, from ?? "not kept"));
}
