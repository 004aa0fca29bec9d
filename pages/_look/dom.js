/* The one place where text becomes elements. It only ever goes through textContent: nothing here reads markup,
   so what a document or a model wrote stays text. */

const OWN_ADDRESS = /^\/v1\/[^\\]*$/;
const OWN_PICTURE = /^data:image\/(png|jpeg);base64,[A-Za-z0-9+/=]*$/;

/** Build an element: `h("p", {class: "small", onclick}, "text", child)`. Children that are null or false are left out. */
export function h(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** The same for the parts of a drawing. */
export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element[name] = value;
    else if (name === "style") for (const [key, text] of Object.entries(value)) element.style.setProperty(key, text);
    else if ((name === "href" || name === "src") && !OWN_ADDRESS.test(value) && !(name === "src" && OWN_PICTURE.test(value))) throw new Error(`not an address of ours: ${value}`);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** An address outside, shown whole; it is opened by a click alone, in a tab that knows nothing of this one. */
export function outside(url) {
  const shown = h("span", { dir: "ltr" }, url);
  if (!/^https?:\/\/[^\s\\]+$/i.test(url)) return shown;
  const link = h("a", { target: "_blank", rel: "noopener noreferrer nofollow", referrerpolicy: "no-referrer", title: "Opens in a new tab" }, shown);
  link.setAttribute("href", url);
  return link;
}

/** Draw an element's content anew; what had the focus in it gives it to what has the same key, or names the same chunk. */
export function refocused(element, draw) {
  const { activeElement: active } = element.getRootNode();
  const { key, chunk } = (element.contains(active) && active?.dataset) || {};
  draw();
  const same = key ? `[data-key="${CSS.escape(key)}"]` : chunk && `[data-chunk="${CSS.escape(chunk)}"]`;
  if (same && !element.contains(element.getRootNode().activeElement)) element.querySelector(same)?.focus({ preventScroll: true });
}

/** Put these in the place of an element's children; one that is drawn as before stays, with its focus and its scroll. */
export function renewed(element, children) {
  const before = [...element.children];
  const after = children.map((child) => {
    const at = before.findIndex((one) => one.isEqualNode(child));
    return at < 0 ? child : before.splice(at, 1)[0];
  });
  for (const one of before) one.remove();
  after.forEach((child, at) => child === element.children[at] || element.insertBefore(child, element.children[at] ?? null));
}

/** A tab list with the keys that a tab list has. `tabs`: [{id, label}]; `choose(id)` is called on a change. */
export function tabList(label, tabs, chosen, choose) {
  const list = h("div", { class: "tabs", role: "tablist", "aria-label": label });
  for (const { id, label: text } of tabs) {
    list.append(
      h("button", {
        role: "tab", type: "button", "data-tab": id, "aria-selected": String(id === chosen), tabindex: id === chosen ? "0" : "-1",
        onclick: () => choose(id),
      }, text),
    );
  }
  list.onkeydown = (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const at = tabs.findIndex(({ id }) => id === event.target.dataset.tab);
    const next = tabs[(at + step + tabs.length) % tabs.length].id;
    choose(next);
    event.currentTarget.getRootNode().querySelector(`[role=tab][data-tab="${next}"]`)?.focus();
  };
  return list;
}

export const plural = (count, one, many = `${one}s`) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;

export const seconds = (value) => (value < 1 ? `${Math.round(value * 1000)} ms` : value < 100 ? `${value.toFixed(1)} s` : `${Math.round(value)} s`);

/** The parts of a text, with those words in <mark> that share their beginning with a word of the question. */
export function marked(text, question) {
  const beginnings = wordsOf(question);
  if (!beginnings.length) return [text];
  return text.split(/([\p{L}\p{N}]+)/u).map((piece) => {
    const word = piece.toLowerCase();
    return beginnings.some((start) => word.startsWith(start)) ? h("mark", {}, piece) : piece;
  });
}

const COMMON = new Set(
  "a about after all also an and any are as at be been but by can did do does for from had has have how in into is it its many much not of on or s should than that the their then there these they this to was were what when where which who why will with would you your".split(" "),
);

function wordsOf(question) {
  const words = question.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const rare = words.filter((word) => !COMMON.has(word) && word.length > 1);
  // The last letters go, so that "acquired" finds "acquisition"; short words must match as they are.
  return [...new Set(rare.map((word) => (word.length > 6 ? word.slice(0, -3) : word.length > 4 ? word.slice(0, -1) : word)))];
}

/** A name of the code as words: 'sub_queries.decompose' is 'sub queries › decompose'. */
export const words = (name) => name.replaceAll("_", " ").replaceAll(".", " › ");

export const shortName = (name) => name.replace(/\.(pdf|docx|pptx|xlsx|html?|md|png|jpe?g)$/i, "");

/** An engine as the menu calls it. */
export const engineName = (name) => (name === "keyless" ? "no model" : name);

export const capital = (name) => name.charAt(0).toUpperCase() + name.slice(1);
