// The live list of requests.
//
// Lives here: polling, filters, older pages. Does not belong here: one request's parts (``request``).

import * as api from "./api.js";
import { announce, go, missed, trouble } from "./address.js";
import { badge, brief, count, el, moment, ms, name, outcome, plural, table } from "./dom.js";
import { tenantName } from "./overview.js";

const EVERY = 3_000;
const PAGE = 50;
const KINDS = ["folded", "shaped", "passthrough", "observed", "bypassed", "failed-open", "recovered", "answered"];
const HEADS = ["when", "status", "model", "tokens", "tags", "tenant", "conversation", "took"];

const TEXTS = [1, 2, 4, 5, 6];

export function requestRow(one) {
  const smaller = one.tokens_before > 0 && one.status !== "observed" ? 1 - one.tokens_after / one.tokens_before : null;
  const row = [
    el("a", { href: go("request", [one.request_id], { at: Math.floor(one.at) }) }, moment(one.at)),
    el("span", { title: one.why }, badge(one.status), one.failed && outcome(one) !== "HTTP 200" && [" ", badge(outcome(one), "failed")]),
    name(one.model || "(unknown)"),
    one.tokens_before ? `${count(one.tokens_before)} → ${count(one.tokens_after)}${smaller ? ` (${smaller > 0 ? "−" : "+"}${Math.abs(100 * smaller).toFixed(0)}%)` : ""}` : "not counted",
    one.tags.length ? el("span", {}, one.tags.map((tag, i) => [i ? " " : null, el("bdi", { class: "tag", title: tag }, tag)])) : "",
    name(one.tenant, tenantName(one.tenant, one.tenant_name)),
    one.conversation ? el("a", { class: "mono", href: go("conversation", [one.tenant, one.conversation]), title: one.conversation }, el("bdi", {}, brief(one.conversation))) : "",
    ms(one.total_ms),
  ];
  row.fresh = one.fresh;
  return row;
}

export async function requests({ values, still, fail }) {
  const only = Object.fromEntries(["tenant", "model", "status", "reason", "tag", "failed"].filter((name) => values[name]).map((name) => [name, values[name]]));
  const held = new Map(); // by id, the newest first
  let next = null;
  let paused = false;
  const list = el("div", { class: "sheet" });
  const older = el("button", { type: "button", onclick: () => more() }, "Older requests");
  const paint = () => {
    const rows = [...held.values()].sort((a, b) => b.at - a.at).map(requestRow);
    list.replaceChildren(...[rows.length ? table("Requests, newest first", HEADS, rows, { cards: true, wrap: [2, 4, 5, 6], texts: TEXTS })
      : el("p", { class: "faint" }, Object.keys(only).length ? "No request matches these filters within a month." : "No requests yet. Point a client at this Turnfold, and they appear here.")].flat());
    older.hidden = next === null;
  };
  const take = (found, fresh) => {
    let added = 0;
    for (const one of held.values()) one.fresh = false;
    for (const one of found.requests) {
      if (!held.has(one.request_id)) { held.set(one.request_id, { ...one, fresh }); added += 1; }
    }
    return added;
  };
  const more = async () => {
    try {
      const found = await api.get("requests", { ...only, limit: PAGE, before: next });
      next = found.next;
      const added = take(found, false);
      if (still()) { paint(); announce(`${plural(added, "older request")}.`); }
    } catch (problem) {
      if (still()) fail(problem);
    }
  };
  const first = await api.get("requests", { ...only, limit: PAGE });
  next = first.next;
  take(first, false);
  paint();
  const timer = setInterval(async () => {
    if (paused || document.hidden || list.contains(document.activeElement)) return;
    try {
      const added = take(await api.get("requests", { ...only, limit: PAGE }), true);
      if (still()) { trouble(""); if (added) paint(); }
    } catch (problem) {
      if (still()) missed(problem, fail);
    }
  }, EVERY);
  const pause = el("button", { type: "button", class: "push", "aria-pressed": "false", onclick: () => {
    paused = !paused;
    pause.setAttribute("aria-pressed", String(paused));
    pause.textContent = paused ? "Go on" : "Pause";
  } }, "Pause");
  const set = (name) => (event) => { location.hash = go("requests", [], { ...only, [name]: event.target.value || null }); };
  const field = (name, text) => el("label", {}, text, el("input", { type: "search", value: only[name] ?? "", onchange: set(name), size: 14 }));
  const tools = el("div", { class: "tools" },
    el("label", {}, "Status", el("select", { onchange: set("status") }, el("option", { value: "" }, "any"), KINDS.map((kind) => el("option", { value: kind, selected: only.status === kind }, kind)))),
    field("model", "Model"), field("tenant", "Tenant"), field("tag", "Tag"),
    el("label", {}, "Failed", el("select", { onchange: set("failed") }, el("option", { value: "" }, "any"), el("option", { value: "true", selected: only.failed === "true" }, "only failed"))),
    only.reason && el("span", { class: "chip" }, "reason: ", name(only.reason), el("button", { type: "button", "aria-label": "Show every reason again", onclick: () => { location.hash = go("requests", [], { ...only, reason: null }); } }, "×")),
    pause);
  return { nodes: [el("h1", {}, "Requests"), tools, list, el("p", {}, older)], leave: () => clearInterval(timer) };
}
