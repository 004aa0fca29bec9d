/* A run that was saved as one file: the inspector over a record and pictures that stand in the file itself. */

import { h, plural } from "./dom.js";
import { holdPictures } from "./picture.js";
import run from "./run.js";
import { emptyView, put } from "./runs.js";

const kept = JSON.parse(document.getElementById("kept").textContent);
const { record, pictures, labels, left } = kept;

holdPictures(pictures);
put({ ...emptyView(record.id), ...record, text: record.final_answer });
document.querySelector(".told").append(...[
  h("span", {}, `A run of Ragscope, saved ${new Date(kept.saved_at).toLocaleString("en-GB", { dateStyle: "long", timeStyle: "short" })}. This file asks nothing of any network.`),
  left > 0 && h("span", {}, ` ${plural(left, "picture was", "pictures were")} left out to keep it small.`)].filter(Boolean));
run({ data: { run: record.id, questions: {}, labels, alone: true, kept: true }, parentElement: document.body });
