/* The plan beside the question: presets and saved plans in one choice, techniques as switches, their settings. */

import { capital, h, plural, seconds } from "./dom.js";

const CHANGED = "custom";
const FOLDED = "ragscope-plan-folded";

/** Draw `data`: {stamp, plan, base, groups, techniques, presets, saved, forecasts, problem}. A plan is {name, techniques};
    it is told as a whole at every change, with the stamp of the one that it came from. */
export default function plan({ data, parentElement, setStateValue, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  const state = (root.state ??= { root, opened: null, folded: sessionStorage.getItem(FOLDED) !== null });
  Object.assign(state, { data, setStateValue, setTriggerValue });
  if (state.stamp !== data.stamp) Object.assign(state, { stamp: data.stamp, plan: data.plan, base: data.base });
  draw(state);
  return () => (root.state = null);
}

const named = ({ presets, saved }) => ({ ...presets, ...saved });

/** Two plans do the same when the same techniques have the same settings. */
function same({ techniques }, one, other) {
  return techniques.every(({ name }) => JSON.stringify(sorted(one.techniques[name])) === JSON.stringify(sorted(other.techniques[name])));
}

const sorted = (settings) => settings && Object.entries(settings).sort(([one], [other]) => (one < other ? -1 : 1));

/** Take the plan with these techniques; where they are those of the plan it came from, it is that one again. */
function take(state, techniques, base = state.base) {
  const { data } = state;
  const origin = named(data)[base];
  const taken = { name: CHANGED, techniques };
  if (origin && same(data, origin, taken)) taken.name = base;
  Object.assign(state, { plan: taken, base });
  draw(state);
  state.setStateValue("plan", { stamp: state.stamp, plan: taken, base });
}

function switchTo(state, { name, usual }, on) {
  const { [name]: was, ...others } = state.plan.techniques;
  if (!on && state.opened === name) state.opened = null;
  take(state, on ? { ...others, [name]: was ?? usual } : others);
}

const set = (state, technique, changes) =>
  take(state, { ...state.plan.techniques, [technique]: { ...state.plan.techniques[technique], ...changes } });

function draw(state) {
  const { root, data } = state;
  const focused = root.getRootNode().activeElement?.dataset?.key;
  root.replaceChildren(
    choice(state), data.problem ? h("p", { class: "problem", role: "alert" }, data.problem) : "",
    state.folded ? "" : h("div", { class: "groups" }, Object.entries(data.groups).map(([group, label]) => phase(state, group, label))));
  if (focused) root.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
}

/** Presets and saved plans, and what can be done with the plan. */
function choice(state) {
  const { data, plan, base } = state;
  const changed = plan.name === CHANGED;
  const one = (name, label) => h("button", {
    type: "button", class: "seg", role: "radio", "aria-checked": String(!changed && plan.name === name), "data-key": `plan-${name}`,
    tabindex: base === name || (!named(data)[base] && name === Object.keys(data.presets)[0]) ? "0" : "-1",
    onclick: () => take(state, named(data)[name].techniques, name),
  }, h("span", {}, label), h("small", {}, inShort(data.forecasts[name])));
  const all = h("div", { class: "segs", role: "radiogroup", "aria-label": "Plan", onkeydown: moved },
    Object.keys(data.presets).map((name) => one(name, capital(name))), Object.keys(data.saved).map((name) => one(name, name)));
  const on = Object.keys(plan.techniques).length;
  const act = (name, label, title) => h("button", { type: "button", class: "bare act", "data-key": name, title, onclick: () => state.setTriggerValue("act", name) }, label);
  const deletable = !changed && data.saved[plan.name] && !data.presets[plan.name];
  return h("div", { class: "choice" }, all, !changed && h("p", { class: "takes" }, inWords(data.forecasts[plan.name])), h("div", { class: "row said" },
    h("button", { type: "button", class: "bare fold", "data-key": "fold", "aria-expanded": String(!state.folded), title: state.folded ? "Show the techniques" : "Hide the techniques", onclick: () => fold(state) }, h("i", {}), `${changed ? (named(data)[base] ? `${title(data, base)}, changed · ` : "A plan of your own · ") : ""}${plural(on, "technique")}`),
    h("span", { class: "row end" },
      changed && named(data)[base] && h("button", { type: "button", class: "bare act", "data-key": "reset", title: `Back to ${title(data, base)}`, onclick: () => take(state, named(data)[base].techniques) }, "Reset"),
      deletable && act("delete-plan", "Delete", `Delete the plan ${plan.name}`),
      act("save-plan", "Save as…", "Keep this plan under a name"),
      act("share-plan", "Share", "Give this plan away as JSON, or use one that you were given"))));
}

/** What a question with a plan will take, for its button: as past ones took, else the most calls of a usual question. */
function inShort(forecast) {
  if (!forecast) return "";
  const { runs, calls } = forecast;
  if (runs) return `${seconds(forecast.seconds)}${calls ? ` · ${plural(calls, "call")}` : ""}`;
  return calls ? `up to ${plural(calls, "call")}` : "";
}

/** The same as a sentence, with where it is from. */
function inWords(forecast) {
  if (!forecast) return "";
  const { runs, calls } = forecast;
  if (runs) return `About ${seconds(forecast.seconds)}, ${plural(calls, "model call")}: median of ${runs === 1 ? "your one question" : `your last ${runs} questions`} with this plan.`;
  const counted = calls === null ? "Model calls hang on what is found" : calls ? `Usually at most ${plural(calls, "model call")}; more where a whole document or a table's numbers are asked for` : "No model calls";
  return `${counted}. The seconds are known once you have asked with it.`;
}

/** Put the techniques away, or bring them back; it stays so in this tab. */
function fold(state) {
  state.folded = !state.folded;
  if (state.folded) sessionStorage.setItem(FOLDED, "");
  else sessionStorage.removeItem(FOLDED);
  draw(state);
}

/** The keys of a radio group: arrows choose the one before and the next. */
function moved(event) {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  const all = [...event.currentTarget.querySelectorAll("[role=radio]")];
  const next = all[(all.indexOf(event.target) + step + all.length) % all.length];
  next.focus();
  next.click();
}

function phase(state, group, label) {
  const members = state.data.techniques.filter((technique) => technique.group === group);
  if (!members.length) return null;
  const opened = members.find(({ name }) => name === state.opened && name in state.plan.techniques);
  return h("section", { class: "phase", "aria-label": label }, h("b", { "aria-hidden": "true" }, label),
    h("div", { class: "switches" }, members.map((technique) => toggle(state, technique)), opened && settings(state, opened)));
}

/** A technique as a switch; beside it, where it is on, what opens its settings. */
function toggle(state, technique) {
  const { name, label, summary, always } = technique;
  const own = state.plan.techniques[name];
  const on = own !== undefined;
  const open = state.opened === name;
  const changes = on && technique.settings.some((setting) => own[setting.name] !== technique.usual[setting.name]);
  return h("span", { class: `sw ${on ? "on" : ""} ${open ? "open" : ""}` },
    always ? h("span", { class: "name", title: `${summary} Always on.`, "data-label": label }, label)
      : h("button", { type: "button", class: "bare name", role: "switch", "aria-checked": String(on), "data-key": `on-${name}`, "data-label": label, title: summary, onclick: () => switchTo(state, technique, !on) }, label),
    technique.settings.length > 0 && h("button", {
      type: "button", class: "bare tune", disabled: !on, "data-key": `tune-${name}`, "aria-expanded": String(open), "aria-label": `Settings of ${label}${changes ? ", changed" : ""}`, title: `Settings of ${label}${changes ? " (changed)" : ""}`,
      onclick: () => show(state, open ? null : name),
    }, h("i", { class: changes ? "changed" : "" })));
}

function show(state, name) {
  state.opened = name;
  draw(state);
  state.root.querySelector(".settings")?.scrollIntoView({ block: "nearest" });
}

function settings(state, technique) {
  const own = state.plan.techniques[technique.name];
  const changed = technique.settings.some(({ name }) => own[name] !== technique.usual[name]);
  return h("div", { class: "settings", role: "group", "aria-label": `Settings of ${technique.label}`, onkeydown: (event) => {
    if (event.key !== "Escape") return;
    show(state, null);
    state.root.querySelector(`[data-key="tune-${technique.name}"]`)?.focus();
  } },
    h("div", { class: "row" }, h("p", {}, technique.summary),
      h("button", { type: "button", class: "bare act end", "data-key": `usual-${technique.name}`, disabled: !changed, onclick: () => set(state, technique.name, technique.usual) }, "Defaults")),
    technique.settings.map((setting) => row(state, technique, setting, own[setting.name])));
}

function row(state, technique, setting, value) {
  const usual = technique.usual[setting.name];
  const id = `${technique.name}-${setting.name}`;
  const given = (next) => set(state, technique.name, { [setting.name]: next });
  return h("div", { class: "setting" },
    h("div", { class: "what" }, h("label", { for: id, id: `${id}-label` }, setting.label), h("small", { id: `${id}-help` }, setting.help, value !== usual && h("span", { class: "was" }, ` Default: ${said(usual)}.`))),
    CONTROLS[setting.kind](setting, value, { id, "data-key": id, "aria-describedby": `${id}-help` }, given));
}

const CONTROLS = {
  switch: (_, value, shared, given) => h("button", { ...shared, type: "button", role: "switch", class: "flip", "aria-checked": String(value), "aria-labelledby": `${shared.id}-label`, onclick: () => given(!value) }, value ? "on" : "off"),
  choice: ({ choices }, value, shared, given) => {
    const all = h("select", { ...shared, onchange: ({ target }) => given(choices[target.selectedIndex]) }, choices.map((choice) => h("option", { selected: choice === value }, said(choice))));
    all.selectedIndex = choices.indexOf(value);
    return all;
  },
  text: (_, value, shared, given) => h("input", { ...shared, type: "text", value: value ?? "", onchange: ({ target }) => given(target.value) }),
  number: ({ least, most, step }, value, shared, given) => {
    const within = (number) => Math.min(most ?? Infinity, Math.max(least ?? -Infinity, number));
    const typed = h("input", { ...shared, type: "number", min: least, max: most, step: step === 1 ? 1 : "any", value, onchange: ({ target }) => {
      const number = target.valueAsNumber;
      given(Number.isNaN(number) ? value : within(step === 1 ? Math.round(number) : number));
    } });
    if (least === null || most === null || (most - least) / step > 200) return h("span", { class: "number" }, typed);
    const slid = h("input", { type: "range", min: least, max: most, step, value, "data-key": `${shared.id}-range`, "aria-labelledby": `${shared.id}-label`, oninput: ({ target }) => (typed.value = target.value), onchange: ({ target }) => given(target.valueAsNumber) });
    return h("span", { class: "number" }, slid, typed);
  },
};

const said = (value) => (value === true ? "on" : value === false ? "off" : String(value).replaceAll("_", " "));
const title = ({ presets }, name) => (presets[name] ? capital(name) : name);
