/* A document, to be looked into: its pages with a box an element, its figures, its chunks. */

import { h, plural } from "./dom.js";
import { PAGE_DPI, pageAddress, pagePicture } from "./picture.js";

const THUMBNAIL_DPI = 24;
/* A thumbnail is asked for when it has stood still for a moment: who scrolls over 500 pages does not wait for all. */
const STILL_MS = 150;
const ZOOMS = [1, 1.5, 2, 3];
/* What a reader calls the kinds, and the colour that each group has. */
const KINDS = [
  ["title", "heading", ["title"]], ["text", "text", ["text", "list", "formula"]], ["table", "table", ["table"]],
  ["figure", "figure", ["figure", "caption"]], ["edge", "header, footer", ["header", "footer", "footnote"]],
];
const groupOf = (kind) => KINDS.find(([, , kinds]) => kinds.includes(kind))?.[0] ?? "text";
const wordFor = (kind) => (kind === "title" ? "heading" : kind);

/** Draw `data`: {document, version, name, pages, page, lit, failed, ocr, view: "page" | "figures" | "chunks", figures, chunks}.
    A page that is to be opened with places lit reaches the page as {page, lit}. */
export default function reader({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  const state = (root.state ??= { off: new Set(), zoom: 0, strip: true, pinned: null });
  const asked = JSON.stringify([data.document, data.page, data.lit]);
  if (state.asked !== asked) Object.assign(state, { asked, page: data.page, lit: data.lit, pinned: null });
  if (state.version !== data.version) Object.assign(state, { version: data.version, read: new Map() });
  Object.assign(state, { root, data, open: (page, lit) => setTriggerValue("open", { page, lit }) });
  if (data.view === "page") turn(state, state.page);
  else {
    state.viewer = null;
    root.replaceChildren(...(data.view === "figures" ? [gallery(state)] : chunkCards(state)));
  }
  return () => (root.state = null);
}

/* Pages. */

const between = (least, value, most) => Math.min(most, Math.max(least, value));

async function turn(state, page) {
  const { data, read } = state;
  if (page !== state.page) Object.assign(state, { page, lit: [], pinned: null });
  if (!read.has(page)) read.set(page, fetchedPage(data.document, page));
  const found = await read.get(page);
  // Another page, or another document, may have been asked for in the meantime.
  if (state.page !== page || state.read !== read || state.data.view !== "page") return;
  if (found.error) read.delete(page);
  draw(state, found);
  if (page < data.pages && !read.has(page + 1)) {
    read.set(page + 1, fetchedPage(data.document, page + 1));
    new Image().src = pageAddress(data.document, page + 1, PAGE_DPI);
  }
}

async function fetchedPage(document, page) {
  const answer = await fetch(`/v1/documents/${encodeURIComponent(document)}/pages/${page}`).catch(() => null);
  const told = await answer?.json().catch(() => null);
  return answer?.ok && told ? told : { error: told?.error ?? "The page could not be fetched; reload to try again.", elements: [] };
}

function draw(state, found) {
  if (!state.viewer?.isConnected || state.viewer.of !== state.data.document) mount(state);
  const { data, page, parts, off } = state;
  const present = new Set(found.elements.map((one) => groupOf(one.kind)));
  fill(parts.pager, pager(state));
  fill(parts.legend, legend(state, found, present));
  fill(parts.notes, notes(data, page, found));
  if (!found.error) fill(parts.frame, picture(state, found, found.elements.filter((one) => !off.has(groupOf(one.kind)))));
  else parts.frame.replaceChildren();
  say(state, state.pinned && !off.has(groupOf(state.pinned.kind)) ? state.pinned : null);
  markThumbnail(state);
}

/** The viewer's parts, kept while a document is leafed through, so that focus and scrolling stay. */
function mount(state) {
  const made = (name) => h("div", { class: name });
  const parts = (state.parts = { pager: made("row pager"), legend: made("row legend"), notes: made("notes"), strip: made("strip"), frame: made("frame"), said: h("p", { class: "said", "aria-live": "polite" }) });
  state.viewer = h("div", { class: "viewer", onkeydown: (event) => leaf(state, event) }, Object.values(parts));
  state.viewer.of = state.data.document;
  if (state.data.pages > 1) thumbnails(state);
  else state.viewer.classList.add("single");
  state.root.replaceChildren(state.viewer);
}

/** Replace what a part holds; the focus stays on the one that does the same. */
function fill(part, children) {
  const does = part.contains(part.getRootNode().activeElement) ? part.getRootNode().activeElement.dataset.does : null;
  part.replaceChildren(...[children].flat(2).filter(Boolean));
  if (does) part.querySelector(`[data-does="${CSS.escape(does)}"]`)?.focus({ preventScroll: true });
}

function leaf(state, event) {
  if (["INPUT", "SELECT"].includes(event.target.tagName)) return;
  const { page, data } = state;
  const to = { ArrowLeft: page - 1, ArrowRight: page + 1, PageUp: page - 1, PageDown: page + 1, Home: 1, End: data.pages }[event.key];
  if (to === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
  event.preventDefault();
  turn(state, between(1, to, data.pages));
}

function pager(state) {
  const { data, page } = state;
  const go = (to) => turn(state, between(1, to, data.pages));
  const zoom = (to) => {
    state.zoom = between(0, to, ZOOMS.length - 1);
    turn(state, page);
  };
  const step = (label, words, to, does, ends) => h("button", { type: "button", class: "btn", disabled: ends, "aria-label": words, title: words, "data-does": does, onclick: to }, label);
  return [
    step("‹", "Page before", () => go(page - 1), "before", page <= 1),
    h("small", {}, "page"),
    h("input", { type: "number", min: "1", max: String(data.pages), value: String(page), "aria-label": "Page number", "data-does": "number", onchange: ({ target }) => go(Math.round(Number(target.value)) || page) }),
    h("small", {}, `of ${data.pages.toLocaleString("en")}`),
    step("›", "Next page", () => go(page + 1), "next", page >= data.pages),
    h("span", { class: "row end", role: "group", "aria-label": "Zoom" },
      step("−", "Smaller", () => zoom(state.zoom - 1), "smaller", state.zoom === 0),
      h("small", { class: "num" }, `${ZOOMS[state.zoom] * 100} %`),
      step("+", "Larger", () => zoom(state.zoom + 1), "larger", state.zoom === ZOOMS.length - 1)),
  ];
}

function legend(state, found, present) {
  return [
    h("span", { class: "row", role: "group", "aria-label": "Kinds that are shown" }, KINDS.filter(([group]) => present.has(group)).map(([group, words]) => h("button", {
      type: "button", class: `chip kind ${group}`, "aria-pressed": String(!state.off.has(group)), "data-does": `kind-${group}`,
      onclick: () => {
        state.off.has(group) ? state.off.delete(group) : state.off.add(group);
        draw(state, found);
      },
    }, h("i", {}), words))),
    found.elements.length > 0 && h("small", { class: "end" }, plural(found.elements.length, "element")),
  ];
}

function notes(data, page, found) {
  const ocr = data.ocr[page];
  return [
    found.error && h("p", { class: "problem" }, found.error),
    data.failed[page] && h("p", { class: "problem" }, `This page could not be read: ${data.failed[page]}`),
    ocr && h("p", {}, ocr),
    !found.error && !data.failed[page] && !found.elements.length && h("p", {}, "Nothing was read on this page."),
  ];
}

/* The picture and its boxes. */

function picture(state, found, shown) {
  const { data, page, lit, zoom } = state;
  const litHere = lit.filter((place) => place.page === page).flatMap((place) => place.boxes.map((box) => ({ box, class: "lit" })));
  const boxes = shown.flatMap((one) => one.place.boxes.map((box, at) => ({
    box, class: `el ${groupOf(one.kind)}`, label: `${wordFor(one.kind)}: ${one.text.slice(0, 300)}`, element: one,
    tag: at === 0 && groupOf(one.kind) !== "text" ? wordFor(one.kind) : null,
  })));
  const drawn = pagePicture({
    document: data.document, page, dpi: Math.min(300, Math.round(PAGE_DPI * ZOOMS[zoom])), boxes: [...litHere, ...boxes], alt: `Page ${page} of ${data.name}`,
    blurred: zoom ? pageAddress(data.document, page, PAGE_DPI) : pageAddress(data.document, page, THUMBNAIL_DPI), size: found,
  });
  drawn.style.setProperty("width", `${ZOOMS[zoom] * 100}%`);
  const rects = [...drawn.querySelectorAll("rect.el")];
  rects.forEach((rect, at) => {
    const { element } = boxes[at];
    rect.onpointerenter = () => say(state, element);
    rect.onpointerleave = () => say(state, state.pinned);
    rect.onfocus = () => {
      rects.forEach((other) => other.setAttribute("tabindex", other === rect ? "0" : "-1"));
      say(state, element);
    };
    rect.onclick = () => {
      state.pinned = element;
      rect.focus({ preventScroll: true });
    };
    // One stop for the Tab key; the arrows go from box to box.
    rect.onkeydown = (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      rects[(at + step + rects.length) % rects.length].focus();
    };
  });
  rects[0]?.setAttribute("tabindex", "0");
  const first = drawn.querySelector("rect.lit");
  if (first && state.shownLit !== state.asked) {
    state.shownLit = state.asked;
    requestAnimationFrame(() => first.scrollIntoView({ block: "center", behavior: "smooth" }));
  }
  return drawn;
}

function say(state, element) {
  const { said } = state.parts;
  if (!element) said.replaceChildren(h("small", {}, "Point at a box, or go there with Tab and the arrow keys, to read what was found in it."));
  else said.replaceChildren(h("b", { class: groupOf(element.kind) }, wordFor(element.kind)), ` ${element.text.slice(0, 2000) || "no text"}`);
}

/* Thumbnails: as many as there are pages, drawn as they come into sight. */

function thumbnails(state) {
  const { data, parts } = state;
  const waiting = new Map();
  const watch = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      clearTimeout(waiting.get(target));
      if (isIntersecting) waiting.set(target, setTimeout(() => {
        watch.unobserve(target);
        target.querySelector("img").setAttribute("src", pageAddress(data.document, Number(target.dataset.page), THUMBNAIL_DPI));
      }, STILL_MS));
    }
  }, { root: parts.strip });
  parts.strip.setAttribute("role", "group");
  parts.strip.setAttribute("aria-label", "Pages");
  parts.strip.replaceChildren(...Array.from({ length: data.pages }, (_, at) => {
    const page = at + 1;
    const failed = data.failed[page];
    const words = failed ? `Page ${page}, could not be read` : `Page ${page}`;
    const thumbnail = h("button", { type: "button", class: `bare thumbnail ${failed ? "failed" : ""}`, "data-page": String(page), tabindex: "-1", title: words, "aria-label": words, onclick: () => turn(state, page) },
      h("img", { alt: "", decoding: "async" }), h("span", {}, failed ? `○ ${page}` : String(page)));
    watch.observe(thumbnail);
    return thumbnail;
  }));
}

function markThumbnail({ parts, page }) {
  const before = parts.strip.querySelector("[aria-current]");
  const now = parts.strip.children[page - 1];
  if (!now || before === now) return;
  before?.removeAttribute("aria-current");
  before?.setAttribute("tabindex", "-1");
  now.setAttribute("aria-current", "page");
  now.setAttribute("tabindex", "0");
  // Not scrollIntoView: that would scroll the page too.
  parts.strip.scrollTop = now.offsetTop - (parts.strip.clientHeight - now.clientHeight) / 2;
}

/* Figures and chunks. */

function gallery({ data, open }) {
  return h("div", { class: "gallery" }, data.figures.map((one) => h("figure", { class: "card" },
    h("button", { type: "button", class: "bare", onclick: () => open(one.page, one.places), "aria-label": `Open page ${one.page}, where this figure stands: ${one.caption || "no caption"}` },
      h("img", { loading: "lazy", decoding: "async", alt: one.caption || "Figure", src: `/v1/documents/${encodeURIComponent(data.document)}/figures/${encodeURIComponent(one.image)}` })),
    h("figcaption", {}, h("b", {}, `p. ${one.page}`), one.caption ? ` ${one.caption}` : h("small", {}, " no caption found")),
    one.text && h("details", {}, h("summary", {}, "What it says"), h("p", {}, one.text)))));
}

function chunkCards({ data, open }) {
  return data.chunks.map((one) => h("article", { class: "card chunk" },
    h("div", { class: "row head" }, h("b", {}, String(one.order + 1)), h("small", { class: "where", title: one.section }, [one.section, one.kind, plural(one.text.length, "character")].filter(Boolean).join(" · ")),
      one.page && h("button", { type: "button", class: "btn end", onclick: () => open(one.page, one.places), "aria-label": `Open page ${one.page}, where chunk ${one.order + 1} stands` }, `p. ${one.page}`)),
    one.caption && h("p", { class: "caption" }, one.caption),
    h("p", {}, one.text.replace(/\s*\n\s*/g, "\n"))));
}
