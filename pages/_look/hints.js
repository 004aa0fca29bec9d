/* What to try where an answer is wrong: a sign that the run shows, and the switch that addresses it. */

import { capital, h } from "./dom.js";

/* Run -> its hints, or what asks for them: a card is drawn often, and what a run shows stays, also that it failed. */
const known = new Map();

let wanted;

/** An answer was called wrong: its hints come into sight when they are there. */
export const want = (run) => (wanted = run);

/** Draw the hints on a run; a press asks its question again with the one switch on, beside this run. */
export function whatToTry(view, act) {
  const list = h("div", { role: "status", tabindex: "-1" });
  const draw = (hints) => {
    list.replaceChildren(hints.length ? h("ol", {}, hints.map((hint) => drawn(view, hint, act))) : nothing());
    if (wanted !== view.id) return;
    wanted = null;
    requestAnimationFrame(() => list.parentElement.scrollIntoView({ block: "start" }));
  };
  const look = () => {
    list.replaceChildren(h("p", { class: "small" }, "Looking at what the run shows…"));
    if (!known.has(view.id)) known.set(view.id, asked(view.id));
    known.get(view.id).then(draw, failed);
  };
  const failed = () => list.replaceChildren(h("div", { class: "row" }, h("p", { class: "small" }, "That could not be looked at."),
    h("button", { type: "button", class: "btn end", "data-key": "look-again", onclick: again }, "Try again")));
  const again = () => {
    known.delete(view.id);
    look();
    list.focus(); // the button that had it is gone
  };
  if (Array.isArray(known.get(view.id))) draw(known.get(view.id));
  else look();
  return h("section", { class: "try", "aria-label": "What to try" }, h("h3", {}, "What to try"), list);
}

async function asked(run) {
  const answer = await fetch(`/v1/runs/${encodeURIComponent(run)}/hints`);
  if (!answer.ok) throw new Error(`no hints: ${answer.status}`);
  known.set(run, await answer.json());
  return known.get(run);
}

const nothing = () => h("p", { class: "small" }, "Nothing that this run shows points to a switch that is off. See what it cites under Evidence: a page can be wrong, or not among your documents.");

function drawn(view, { sign, technique, label, step, does }, act) {
  const once = ({ currentTarget: button }) => {
    if (button.ariaDisabled) return;
    Object.assign(button, { ariaDisabled: "true", textContent: "Asking…" });
    act("hint", { run: view.id, technique });
  };
  return h("li", {}, h("p", { dir: "auto" }, h("span", { class: "chip" }, capital(step)), ` ${sign}`),
    h("div", { class: "row" }, h("p", { class: "small" }, h("b", {}, `${capital(label)}.`), ` ${does}`),
      h("button", { type: "button", class: "btn end", "data-key": `try-${technique}`, title: "Ask this again with it on, side by side with this run", onclick: once }, `Try ${label}`)));
}
