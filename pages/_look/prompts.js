/* What was asked of the engine and what it replied, word for word. */

import { h } from "./dom.js";

export function promptCards(view) {
  if (!view.prompts.length) return [h("p", { class: "nothing" }, "No engine was asked.")];
  return view.prompts.map((one) =>
    h("details", { class: "card prompt" },
      h("summary", {}, h("h3", {}, one.signature), h("span", { class: "chip" }, one.engine), one.note && h("small", {}, one.note)),
      h("small", {}, "Prompt"), one.prompt ? h("pre", { tabindex: "0", dir: "auto" }, one.prompt) : h("p", { class: "small" }, "None: without a model it is answered by reading."),
      h("small", {}, "Reply"), h("pre", { tabindex: "0", dir: "auto" }, one.reply)));
}
