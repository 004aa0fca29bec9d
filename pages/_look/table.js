/* A table of a document, rebuilt cell by cell. The HTML is parsed into a document that runs and loads nothing, and
   of that only the shape of the table and the text of its cells are taken over. */

import { h } from "./dom.js";

const MOST_ROWS = 60;
const MOST_SPAN = 100;

/** Give the table drawn anew, or null where the HTML holds none. */
export function rebuiltTable(html) {
  const found = new DOMParser().parseFromString(html, "text/html").querySelector("table");
  if (!found) return null;
  const rows = [...found.rows];
  const body = rows.slice(0, MOST_ROWS).map((row) =>
    h("tr", {}, [...row.cells].map((cell) => {
      const span = (name) => (cell[name] > 1 ? Math.min(cell[name], MOST_SPAN) : null);
      return h(cell.tagName === "TH" ? "th" : "td", { colspan: span("colSpan"), rowspan: span("rowSpan"), class: isNumber(cell.textContent) ? "right" : null }, cell.textContent.trim());
    })),
  );
  const more = rows.length - MOST_ROWS;
  return h("div", { class: "tablebox", tabindex: "0", role: "group", "aria-label": "Table" },
    h("table", {}, h("tbody", {}, body)), more > 0 && h("small", {}, `and ${more} more rows`));
}

const isNumber = (text) => /^[\s$€£+\-–−(]*\d[\d.,\s]*[%)]?\s*$/.test(text);
