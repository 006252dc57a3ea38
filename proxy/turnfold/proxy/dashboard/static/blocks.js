// Folded blocks, opened to their originals.
//
// Lives here: a stored message as text, a block's messages beside what was sent instead. Does not belong here: which blocks.

import { badge, count, el } from "./dom.js";

const MARKER = /(^\[turnfold [^\]\n]*\]|^<\/?quotes[^>\n]*>|…)/gm;

// What Turnfold wrote itself (markers, the fence of quotes, elisions) stands out; the text stays text.
export function marked(text) {
  const parts = [];
  let at = 0;
  for (const found of text.matchAll(MARKER)) {
    parts.push(text.slice(at, found.index), el("mark", {}, found[0]));
    at = found.index + found[0].length;
  }
  return el("pre", { class: "text", tabindex: "0" }, parts, text.slice(at));
}

export const plain = (text) => el("pre", { class: "text", tabindex: "0" }, text);

function partText(part) {
  if (typeof part === "string") return part;
  if (typeof part?.text === "string") return part.text;
  if (part?.type === "tool_use") return `${part.name}(${JSON.stringify(part.input)})`;
  if (part?.type === "tool_result") return contentText(part.content);
  return JSON.stringify(part, null, 1);
}

function contentText(content) {
  if (content === null || content === undefined) return "";
  return typeof content === "string" ? content : Array.isArray(content) ? content.map(partText).join("\n") : JSON.stringify(content, null, 1);
}

// A message's raw JSON, of any of the three formats, as its role and its text. In the Responses format it may be several items.
export function readMessage(raw) {
  let items;
  try { items = JSON.parse(`[${raw}]`); } catch { return { role: "message", text: raw }; }
  const read = items.map(readItem);
  return { role: read.map((item) => item.role).join(", "), text: read.map((item) => item.text).join("\n") };
}

function readItem(value) {
  const calls = (value.tool_calls ?? []).map((call) => `${call.function?.name ?? call.type}(${call.function?.arguments ?? ""})`);
  if (value.type === "function_call") calls.push(`${value.name}(${value.arguments})`);
  const text = [contentText(value.content ?? value.output), ...calls].filter(Boolean).join("\n");
  return { role: value.role ?? value.type ?? "message", text: text || JSON.stringify(value) };
}

export function pair(title, before, after, note = null) {
  return el("div", { class: "pair" },
    el("div", {}, el("h3", {}, `${title} – original`), plain(before)),
    el("div", {}, el("h3", {}, "sent instead"), after === null ? el("p", { class: "faint" }, note) : marked(after)));
}

export function block(section) {
  if (!section.kept) {
    const why = section.problem === "expired" ? "It was stored, but has expired or was deleted." : section.problem === "never kept"
      ? "It was never stored (TURNFOLD_STORE_SAVE_ORIGINALS is false, the store keeps nothing, or there was no room)." : `It is ${section.problem}.`;
    return el("div", { class: "notice" }, "The original of block ", el("code", {}, section.id), " is not here. ", why);
  }
  const read = section.messages.map(readMessage);
  const aligned = section.instead !== null && section.instead.length === read.length;
  const missing = section.instead === null ? "What was sent instead is not stored." : "Sent unchanged, or not stored because it contains private text.";
  const body = aligned
    ? read.map((message, i) => pair(`${i + 1}. ${message.role}`, message.text, section.instead[i], missing))
    : [el("div", { class: "pair" },
      el("div", { class: "tall", tabindex: "0", role: "region", "aria-label": "originals" }, read.map((message, i) => [el("h3", {}, `${i + 1}. ${message.role} – original`), plain(message.text)])),
      el("div", {}, el("h3", {}, "sent instead of all of them"), section.instead?.[0] ? marked(section.instead.join("\n")) : el("p", { class: "faint" }, missing)))];
  return el("details", { class: "block" },
    el("summary", {}, badge(section.level, "folded"), el("strong", {}, `${count(read.length)} messages`), el("span", {}, `${count(section.tokens)} tokens before`), el("code", { class: "faint" }, section.id)),
    body);
}
