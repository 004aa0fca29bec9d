/* What steers a replay: play and pause, a step on or back, how fast, how far. */

import { h, seconds } from "./dom.js";

const SPEEDS = [0.5, 1, 2, 4];

/** The bar, drawn once; `bar.follow(player)` brings it up to date. `leave()` ends the replay. */
export function replayBar(leave) {
  const play = h("button", { type: "button", class: "btn play", onclick: () => bar.player.toggle() });
  const step = (by, label, name) => h("button", { type: "button", class: "btn", title: name, "aria-label": name, onclick: () => bar.player.step(by) }, label);
  // Streamlit keeps arrows from moving what it did not draw itself.
  const far = h("input", { type: "range", min: "0", step: "1", "aria-label": "Step of the replay", onkeydown: (event) => event.key !== "Escape" && event.stopPropagation(), oninput: ({ target }) => bar.player.step(Number(target.value) - bar.player.at) });
  const speed = h("select", { "aria-label": "Speed", onchange: ({ target }) => { bar.player.speed = Number(target.value); bar.player.wait(); } },
    SPEEDS.map((one) => h("option", { value: String(one), selected: one === 1 }, `${one}×`)));
  const said = h("span", { class: "said-now" });
  const bar = h("div", { class: "row card replay", role: "group", "aria-label": "Replay" }, play, step(-1, "‹", "A step back"), step(1, "›", "A step on"), far, speed,
    h("button", { type: "button", class: "btn", onclick: leave }, "End"), h("p", { class: "small" }, said));
  bar.follow = (player) => {
    const { at, events, playing } = player;
    Object.assign(bar, { player });
    play.textContent = playing ? "Pause" : at === events.length - 1 ? "Again" : "Play";
    far.max = String(events.length - 1);
    far.value = String(at);
    far.setAttribute("aria-valuetext", player.said);
    said.textContent = `${at + 1} of ${events.length} · ${seconds(events[at].at)} · ${player.said}`;
  };
  return bar;
}
