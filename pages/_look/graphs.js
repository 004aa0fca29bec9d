/* What a run used of the graph: entities and the passages that they led to, how entities are related, and why. */

import { h, plural, shortName, svg } from "./dom.js";
import { numbers, tell } from "./runs.js";

const MOST_ENTITIES = 16;
const MOST_PASSAGES = 10;
const MOST_RELATIONS = 20;
const ROW = 27;
const WIDTH = 560;
const LEFT = 214;
const RIGHT = 344;

/** The graph searches of a run that are over. */
export const graphSpans = (view) => view.spans.filter(({ name, open, attributes }) => name === "graph" && !open && (attributes?.chunks || attributes?.why));

/** Draw what the graph searches of a run used. */
export function usedGraph(view) {
  const ranks = numbers(view);
  return graphSpans(view).flatMap(({ attributes: used }, at, all) => [
    all.length > 1 && h("h3", {}, `Search ${at + 1} of the graph`),
    used.why && h("p", { class: "small" }, used.why),
    ...asked(used), picture(view, used, ranks), ...why(view, used, ranks), ...relations(view, used, ranks),
  ]).filter(Boolean);
}

/** `[entity, chunk]` of all that led from one to the other. */
function ways({ mentions = [], relations: related = [] }) {
  const found = new Map();
  for (const [entity, chunk] of [...mentions, ...related.flatMap(({ source, target, chunk }) => [[source, chunk], [target, chunk]])]) found.set(`${entity} ${chunk}`, [entity, chunk]);
  return [...found.values()];
}

/** Entities at the left, the evidence that they led to at the right. The lists under it say the same in words. */
function picture(view, used, ranks) {
  const chunks = (used.chunks ?? []).filter((id) => ranks.has(id)).sort((a, b) => ranks.get(a) - ranks.get(b)).slice(0, MOST_PASSAGES);
  const place = new Map(chunks.map((id, at) => [id, at]));
  const lines = ways(used).filter(([, chunk]) => place.has(chunk));
  const own = new Set(used.asked ?? []);
  const reached = (id) => lines.filter(([entity]) => entity === id).map(([, chunk]) => place.get(chunk));
  const middle = (id) => reached(id).reduce((sum, at) => sum + at, 0) / reached(id).length;
  const entities = (used.entities ?? []).filter(({ id }) => reached(id).length).slice(0, MOST_ENTITIES).sort((a, b) => middle(a.id) - middle(b.id));
  if (!entities.length) return null;
  const rows = Math.max(entities.length, chunks.length);
  const y = (at, count) => (at + 0.5) * ROW * (rows / count);
  const left = new Map(entities.map(({ id }, at) => [id, y(at, entities.length)]));
  const name = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
  return h("figure", { class: "card ways" }, svg("svg", { viewBox: `0 0 ${WIDTH} ${rows * ROW}`, role: "img", "aria-label": `${plural(entities.length, "entity", "entities")} led to ${plural(chunks.length, "passage")}` },
    lines.filter(([entity]) => left.has(entity)).map(([entity, chunk]) => {
      const [from, to] = [left.get(entity), y(place.get(chunk), chunks.length)];
      return svg("path", { class: own.has(entity) ? "way own" : "way", d: `M${LEFT} ${from} C${LEFT + 70} ${from} ${RIGHT - 70} ${to} ${RIGHT} ${to}` });
    }),
    entities.map(({ id, name: called }) => svg("text", { x: LEFT - 8, y: left.get(id) + 4, class: own.has(id) ? "entity own" : "entity" }, `${name(called, 28)} ${own.has(id) ? "◆" : "●"}`)),
    chunks.map((id, at) => svg("text", { x: RIGHT + 8, y: y(at, chunks.length) + 4, class: "passage" }, `${ranks.get(id)} · ${name(whereIs(view, id), 26)}`))),
  h("figcaption", {}, h("small", {}, own.size ? "◆ in the question · ● met on the way" : "● met on the way")));
}

function whereIs(view, id) {
  const chunk = view.evidence.find((hit) => hit.chunk.id === id)?.chunk;
  return chunk ? `${chunk.places[0] ? `p. ${chunk.places[0].page} · ` : ""}${shortName(chunk.name)}` : "";
}

const numbered = (view, id, rank) => h("button", { type: "button", class: "btn rank-of", "aria-label": `Evidence ${rank}`, title: whereIs(view, id), onclick: () => tell("cite", { run: view.id, chunk: id }) }, String(rank));

function why(view, { because = {} }, ranks) {
  const told = Object.entries(because).filter(([id, words]) => words && ranks.has(id)).sort(([a], [b]) => ranks.get(a) - ranks.get(b));
  return told.length ? [h("section", { class: "card use", "aria-label": "Why these passages" }, h("h3", {}, "Why these passages"),
    h("ul", {}, told.map(([id, words]) => h("li", {}, numbered(view, id, ranks.get(id)), h("span", { dir: "auto" }, words)))))] : [];
}

function relations(view, { relations: related = [], entities = [] }, ranks) {
  const names = new Map(entities.map(({ id, name }) => [id, name]));
  const told = related.filter(({ source, target }) => names.has(source) && names.has(target)).slice(0, MOST_RELATIONS);
  return told.length ? [h("section", { class: "card use", "aria-label": "Relations" }, h("h3", {}, plural(told.length, "relation")),
    h("ul", {}, told.map(({ source, target, name, chunk }) => h("li", {}, ranks.has(chunk) ? numbered(view, chunk, ranks.get(chunk)) : h("span", {}),
      h("span", { dir: "auto" }, h("b", {}, names.get(source)), ` ${name || "with"} `, h("b", {}, names.get(target)))))))] : [];
}

/** What was asked of the graph, where that was a query or its reports. */
function asked({ said = {} }) {
  return [
    said.query && h("section", { class: "card use" }, h("h3", {}, "The query"), h("pre", {}, said.query), h("small", {}, plural(said.rows?.length ?? 0, "row"))),
    said.summary && h("section", { class: "card use" }, h("h3", {}, "From the reports"), h("p", { dir: "auto" }, said.summary), h("small", {}, (said.communities ?? []).map(({ title }) => title).join(" · "))),
  ].filter(Boolean);
}
