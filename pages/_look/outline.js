/* A list, or an outline where entries have others under them: every click of a picture, as buttons for the keyboard. */

import { h } from "./dom.js";

/* Entries that are opened from the beginning. */
const FEW = 4;

/** Draw `data`: {label, look, roots: [id], nodes: {id: {title, note, sign, colour, children}}, chosen, empty}. What is under an
    entry is drawn when it is opened: one may stand under several. A chosen entry reaches the page as its id. */
export default function outline({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  const open = (root.open ??= new Set(data.roots.length < FEW ? data.roots : []));
  const choose = (id) => setTriggerValue("choose", id);
  const focused = root.getRootNode().activeElement?.dataset?.key;
  const scrolled = root.firstElementChild?.scrollTop ?? 0;
  const flat = !Object.values(data.nodes).some(({ children }) => children?.length);
  const list = data.roots.length
    ? h("ul", { class: `${data.look} ${flat ? "flat" : ""}`, "aria-label": data.label }, data.roots.map((id) => entry(data, id, id, { open, choose })))
    : h("p", { class: "nothing" }, data.empty);
  root.replaceChildren(list);
  list.scrollTop = scrolled;
  if (focused) root.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
}

function entry(data, id, path, state) {
  const node = data.nodes[id];
  const under = node.children ?? [];
  const button = h("button", {
    type: "button", class: "bare pick", "data-key": path, "data-id": id, "aria-current": id === data.chosen ? "true" : null,
    onclick: () => state.choose(id),
  }, node.sign && h("i", { class: "sign", "aria-hidden": "true", style: { color: node.colour } }, node.sign),
  h("span", { class: "title", dir: "auto" }, node.title), node.note && h("small", {}, node.note));
  if (!under.length) return h("li", {}, h("span", { class: "twig", "aria-hidden": "true" }), button);
  const held = h("ul", {});
  const fill = (opened) => held.replaceChildren(...(opened ? under.map((child) => entry(data, child, `${path}/${child}`, state)) : []));
  const twig = h("button", { type: "button", class: "bare twig", "data-key": `${path}#`, "aria-label": `What is under: ${node.title}` });
  const turn = (opened) => {
    twig.textContent = opened ? "▾" : "▸";
    twig.setAttribute("aria-expanded", String(opened));
    fill(opened);
  };
  twig.onclick = () => {
    const opened = !state.open.has(path);
    opened ? state.open.add(path) : state.open.delete(path);
    turn(opened);
  };
  turn(state.open.has(path));
  return h("li", {}, twig, button, held);
}
