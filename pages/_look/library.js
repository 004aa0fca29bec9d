/* The documents of a collection: what each holds, how far the work on it is, what can be done. Found by name, sorted,
   narrowed by state; several can be chosen at once. What did not change is left alone, so nothing jumps. */

import { h, plural } from "./dom.js";

const ACTIONS = { open: "Open", retry: "Try again", password: "Password", again: "Read again", move: "Move to…", delete: "Delete" };
const FEW = 6;
const SORTS = [["newest", "Newest first"], ["name", "By name"], ["pages", "Most pages first"], ["state", "By state"]];
const GROUPS = [["attention", "Needs you"], ["working", "Worked on"], ["ready", "Ready"]];

/** Draw `data`: {rows, opened, empty, notices}. A chosen action reaches the page as {action, ids}. */
export default function library({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  root.state ??= { words: "", sort: "newest", group: null, choosing: false, chosen: new Set(), rows: new Map(), parts: null };
  const state = Object.assign(root.state, { data, act: (action, ids) => setTriggerValue("act", { action, ids }) });
  if (!state.parts) {
    state.parts = { notices: h("div", { class: "notices" }), tools: h("div", { class: "row tools" }), bulk: h("div", { class: "row bulk" }), list: h("ul", { class: "card" }) };
    state.parts.found = searchField(state);
    root.replaceChildren(...[state.parts.notices, state.parts.tools, state.parts.bulk, state.parts.list]);
  }
  draw(state);
}

function draw(state) {
  const { data, parts } = state;
  const there = new Set(data.rows.map((row) => row.id));
  for (const id of state.chosen) if (!there.has(id)) state.chosen.delete(id);
  parts.notices.hidden = !data.notices.length;
  changed(parts.notices, data.notices, () => data.notices.map((one) => notice(one, state)));
  drawTools(state);
  const shown = visible(state);
  drawBulk(state, shown);
  drawList(state, shown);
}

/** Replace what an element holds, only where what it is drawn from is another than before. */
function changed(element, from, children) {
  const key = JSON.stringify(from);
  if (element.drawnFrom === key) return false;
  element.drawnFrom = key;
  const focused = element.getRootNode().activeElement;
  const does = element.contains(focused) ? focused.dataset.does : null;
  element.replaceChildren(...[children()].flat(2).filter(Boolean));
  if (does) element.querySelector(`[data-does="${CSS.escape(does)}"]`)?.focus({ preventScroll: true });
  return true;
}

const notice = ({ text, action, label }, state) => h("div", { class: "row notice", role: "status" }, h("span", {}, text),
  action && h("button", { type: "button", class: "btn end", "data-does": `all-${action}`, onclick: () => state.act(action, []) }, label));

/* Finding, sorting, narrowing. */

function searchField(state) {
  return h("input", { type: "search", class: "find", "data-does": "find", placeholder: "Find a document", "aria-label": "Find a document", oninput: ({ target }) => {
    state.words = target.value.trim().toLowerCase();
    draw(state);
  } });
}

function drawTools(state) {
  const { data, parts } = state;
  const counts = Object.fromEntries(GROUPS.map(([group]) => [group, data.rows.filter((row) => row.group === group).length]));
  const groups = GROUPS.filter(([group]) => counts[group]);
  if (state.group && !counts[state.group]) state.group = null;
  const many = data.rows.length > FEW;
  parts.tools.hidden = !many && groups.length < 2 && data.rows.length < 2;
  changed(parts.tools, [counts, state.group, state.sort, state.choosing, many], () => [
    many && parts.found,
    many && h("select", { "aria-label": "Sort", "data-does": "sort", onchange: ({ target }) => { state.sort = target.value; draw(state); } },
      SORTS.map(([sort, words]) => h("option", { value: sort, selected: sort === state.sort }, words))),
    groups.length > 1 && h("span", { class: "row", role: "group", "aria-label": "Show" }, [[null, "All"], ...groups].map(([group, words]) => h("button", {
      type: "button", class: `chip pick ${group === state.group ? "on" : ""}`, "aria-pressed": String(group === state.group), "data-does": `show-${group}`,
      onclick: () => { state.group = group; draw(state); },
    }, words, h("span", { class: "num" }, (group ? counts[group] : data.rows.length).toLocaleString("en"))))),
    h("button", { type: "button", class: "btn end", "aria-pressed": String(state.choosing), "data-does": "choose", onclick: () => {
      state.choosing = !state.choosing;
      state.chosen.clear();
      draw(state);
    } }, state.choosing ? "Done" : "Select"),
  ]);
}

function visible({ data, words, group, sort }) {
  const found = data.rows.filter((row) => (!group || row.group === group) && (!words || row.name.toLowerCase().includes(words)));
  const place = new Map(GROUPS.map(([name], at) => [name, at]));
  const by = {
    name: (a, b) => a.name.localeCompare(b.name, undefined, { numeric: true }),
    pages: (a, b) => b.pages - a.pages,
    state: (a, b) => place.get(a.group) - place.get(b.group),
  }[sort];
  return by ? found.sort(by) : found;
}

/* Several at once. */

function drawBulk(state, shown) {
  const { parts, chosen } = state;
  parts.bulk.hidden = !state.choosing;
  parts.list.classList.toggle("choosing", state.choosing);
  const ids = shown.map((row) => row.id).filter((id) => chosen.has(id));
  const all = ids.length === shown.length && shown.length > 0;
  changed(parts.bulk, [ids.length, all, state.choosing], () => [
    h("label", { class: "row" }, h("input", { type: "checkbox", checked: all, "data-does": "all", onchange: () => {
      visible(state).forEach((row) => (all ? chosen.delete(row.id) : chosen.add(row.id)));
      draw(state);
    } }), "All"),
    h("small", { "aria-live": "polite" }, `${plural(ids.length, "document")} chosen`),
    h("span", { class: "row end" }, ["move", "again", "delete"].map((action) => h("button", {
      type: "button", class: `btn ${action}`, disabled: !ids.length, "data-does": `chosen-${action}`,
      onclick: () => state.act(action, visible(state).map((row) => row.id).filter((id) => chosen.has(id))),
    }, ACTIONS[action]))),
  ]);
}

/* The list. */

function drawList(state, shown) {
  const { data, parts, rows } = state;
  for (const id of rows.keys()) if (!data.rows.some((row) => row.id === id)) rows.delete(id);
  const items = [];
  let heading = null;
  for (const row of shown) {
    if (state.sort === "state" && row.group !== heading) {
      heading = row.group;
      items.push(h("li", { class: "heading" }, GROUPS.find(([group]) => group === heading)[1]));
    }
    items.push(drawnRow(state, row));
  }
  if (!items.length) items.push(h("li", { class: "none-yet" }, data.rows.length ? "No document is so." : data.empty));
  const there = [...parts.list.children];
  // Taking a row out and in again would lose its focus and its open menu.
  if (items.length !== there.length || items.some((item, at) => item !== there[at])) parts.list.replaceChildren(...items);
}

function drawnRow(state, row) {
  let item = state.rows.get(row.id);
  if (!item) {
    const parts = { tick: h("span", { class: "tick" }), what: h("div", { class: "what" }), how: h("div", { class: "how" }), act: h("div", { class: "act" }) };
    item = h("li", { class: "f", "data-document": row.id }, Object.values(parts));
    item.parts = parts;
    state.rows.set(row.id, item);
  }
  item.classList.toggle("opened", row.id === state.data.opened);
  const { tick, what, how, act } = item.parts;
  changed(tick, [state.choosing, state.chosen.has(row.id)], () => state.choosing && h("input", {
    type: "checkbox", checked: state.chosen.has(row.id), "aria-label": `Choose ${row.name}`, "data-does": `choose-${row.id}`,
    onchange: ({ target }) => { target.checked ? state.chosen.add(row.id) : state.chosen.delete(row.id); draw(state); },
  }));
  changed(what, [row.name, row.line, row.problem], () => [h("b", { title: row.name }, row.name), h("small", {}, row.line), row.problem && h("small", { class: "problem" }, row.problem)]);
  changed(how, [row.state, row.stages, row.pace], () => row.stages.length ? progress(row) : h("span", { class: `chip ${row.state.grade}` }, `${row.state.sign} ${row.state.words}`));
  changed(act, [row.actions, row.more], () => [row.actions.map((action) => button(state, row, action)), row.more.length && menu(state, row)]);
  return item;
}

const button = (state, row, action) => h("button", {
  type: "button", class: `btn ${action}`, "data-does": `${action}-${row.id}`, onclick: () => state.act(action, [row.id]), "aria-label": `${ACTIONS[action]} ${row.name}`,
}, ACTIONS[action]);

/** What is done more seldom, in a menu that lies over the page. */
function menu(state, row) {
  const id = `more-${row.id}`;
  const list = h("div", { class: "menu", id, popover: "auto" }, row.more.map((action) => h("button", {
    type: "button", class: `bare ${action}`, "aria-label": `${ACTIONS[action]} ${row.name}`, onclick: () => { list.hidePopover(); state.act(action, [row.id]); },
  }, ACTIONS[action])));
  const opener = h("button", { type: "button", class: "btn more", popovertarget: id, "data-does": id, "aria-label": `More for ${row.name}` }, "⋯");
  list.onbeforetoggle = ({ newState }) => {
    if (newState !== "open") return;
    const { right, bottom } = opener.getBoundingClientRect();
    Object.assign(list.style, { top: `${Math.min(bottom + 4, innerHeight - 40 * row.more.length - 12)}px`, right: `${document.documentElement.clientWidth - right}px` });
  };
  list.onkeydown = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const buttons = [...list.children];
    buttons[(buttons.indexOf(list.getRootNode().activeElement) + step + buttons.length) % buttons.length].focus();
  };
  return [opener, list];
}

function progress(row) {
  const now = row.stages.find((stage) => stage.now);
  const done = row.stages.reduce((sum, stage) => sum + stage.share, 0) / row.stages.length;
  return [
    h("div", { class: "st", role: "progressbar", "aria-valuemin": "0", "aria-valuemax": "100", "aria-valuenow": String(Math.round(done * 100)), "aria-label": `${row.name}: ${now?.name ?? ""}` },
      row.stages.map((stage) => h("i", { style: { "--done": `${Math.round(stage.share * 100)}%` } }))),
    h("small", { class: "names" }, row.stages.map((stage) => (stage.now ? h("b", {}, stage.name) : h("span", { class: stage.share === 1 ? "done" : null }, stage.name)))),
    h("span", { class: "num" }, row.pace.join(" · ") || "\u00a0"),
  ];
}
