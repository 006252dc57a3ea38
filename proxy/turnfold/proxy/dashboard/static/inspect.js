// A request under the glass: what a fold makes of a body that is pasted here.
//
// Lives here: the form, and a row for each message. Does not belong here: folding; the server does it, sends nothing and keeps
// nothing.

import * as api from "./api.js";
import { announce } from "./address.js";
import { marked, plain } from "./blocks.js";
import { badge, count, el } from "./dom.js";
import { facts } from "./request.js";

const KINDS = { verbatim: "bypassed", shortened: "folded", "left out": "observed", "added to": "folded" };

function row(message) {
  return el("details", { class: "block" },
    el("summary", {}, el("strong", {}, `${message.index + 1}. ${message.role}`), badge(message.what, KINDS[message.what] ?? "plain"), message.level && badge(message.level, "folded"),
      message.mark && badge(`cache mark: ${message.mark}`, "observed"), message.recall.length > 0 && badge(`${message.recall.length} recalled`, "folded"),
      el("span", { class: "faint" }, `${count(message.tokens_before)} → ${count(message.tokens_after)} tokens, ${message.kind}`), message.section && el("code", { class: "faint" }, message.section)),
    el("p", {}, message.why),
    el("div", { class: "pair" },
      el("div", {}, el("h3", {}, "original"), plain(message.before)),
      el("div", {}, el("h3", {}, "as forwarded"), message.after === null ? el("p", { class: "faint" }, "Left out; its block’s text is placed with a kept message.") : marked(message.after))),
    message.recall.length > 0 && [el("h3", {}, "Recalled after it"), message.recall.map((passage) => el("blockquote", {}, el("strong", {}, `${passage.role}: `), passage.text))]);
}

function result(found) {
  const { tokens, prices, thresholds } = found;
  const dearness = prices.dollars_per_million === null ? "price unknown" : `$${prices.dollars_per_million.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 4 })} per million`;
  return [
    el("section", { class: "sheet" }, el("h2", {}, `${count(tokens.before)} → ${count(tokens.after)} tokens`), el("p", {}, badge(found.status), " ", found.why),
      facts([["Model", found.model], ["Format", found.wire], ["Fold events", count(found.fold_events)], ["Prices", `${prices.priced_as ?? "unknown"}, ${dearness}`],
        ["Cached token costs", `${prices.cache_read} of an input token`], ["First fold", thresholds.start && `above ${count(thresholds.start)} tokens`], ["Later folds", thresholds.fold_at && `at ${count(thresholds.fold_at)} unfolded tokens`], ["Stays unfolded", thresholds.keep_recent && `${count(thresholds.keep_recent)} tokens`]]),
      thresholds.words && el("p", { class: "faint" }, thresholds.words)),
    el("section", { class: "sheet" }, el("h2", {}, `Blocks (${found.sections.length})`), found.sections.length ? el("ul", {}, found.sections.map((one) => el("li", {}, badge(one.level, "folded"), ` ${count(one.messages)} messages, ${count(one.tokens)} tokens before `, el("code", { class: "faint" }, one.id)))) : el("p", { class: "faint" }, "Nothing is folded.")),
    el("section", { class: "sheet" }, el("h2", {}, `Messages (${found.messages.length})`), found.messages.map(row)),
  ];
}

export async function inspect({ still }) {
  const body = el("textarea", { id: "body", class: "mono", spellcheck: "false", required: true, placeholder: '{"model": "gpt-4o", "messages": [...]}' });
  const budget = el("input", { type: "number", min: "1", id: "budget", size: 8 });
  const shown = el("div", {});
  const said = el("p", { class: "problem", role: "alert", hidden: true });
  const file = el("input", { type: "file", accept: "application/json,.json", onchange: async (event) => { body.value = (await event.target.files[0]?.text()) ?? ""; } });
  const form = el("form", { class: "sheet", onsubmit: async (event) => {
    event.preventDefault();
    said.hidden = true;
    try {
      const found = await api.post("inspect", body.value, { budget: budget.value });
      if (!still()) return;
      shown.replaceChildren(...result(found));
      announce(`${found.messages.length} messages, ${found.tokens.before} tokens before, ${found.tokens.after} after.`);
    } catch (problem) {
      shown.replaceChildren(); // what was inspected before is not what stands in the form now
      said.hidden = false;
      said.textContent = problem.message;
    }
  } },
  el("p", { class: "faint" }, "Paste the JSON body of a request in any of the three formats. It is folded here, with the current settings; nothing is sent or stored."),
  el("label", { for: "body" }, "Body"), body,
  el("div", { class: "tools" }, el("label", {}, "Or a file", file), el("label", { for: "budget" }, "Budget in tokens (optional)", budget), el("button", { class: "main", type: "submit" }, "Inspect")), said);
  return { nodes: [el("h1", {}, "Inspect a request"), form, shown] };
}
