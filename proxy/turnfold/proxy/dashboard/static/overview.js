// The overview: the headline, two charts, and who and what the figures come from.
//
// Lives here: its sections, its range and its filters. Does not belong here: arithmetic; every figure comes from the server.

import * as api from "./api.js";
import { go, missed, trouble } from "./address.js";
import { chart } from "./chart.js";
import { badge, brief, count, el, moment, money, ms, name as named, outcome, plural, sentence, share, short, table } from "./dom.js";

const RANGES = [["24h", "24 hours"], ["7d", "7 days"], ["30d", "30 days"], ["90d", "90 days"]];
const FILTERS = ["model", "tenant", "tag", "status", "wire"];
const EVERY = 30_000;

export const tenantName = (id, name) => name || brief(id) || "(none)";

export async function overview({ values, still, fail }) {
  const range = RANGES.some(([name]) => name === values.from) ? values.from : "7d";
  const only = Object.fromEntries(FILTERS.filter((name) => name in values).map((name) => [name, values[name]]));
  const asked = { from: range, ...only };
  const body = el("div", { id: "figures" });
  const names = {};
  const load = async () => {
    const found = await api.get("overview", asked);
    for (const one of found.tenants) names[one.tenant] = one.name;
    return found;
  };
  const fill = (found) => body.replaceChildren(...sections(found, asked, range).filter(Boolean));
  const first = await load();
  fill(first);
  let asking = null; // the comparison reads far more than all the rest: once for a view, not at every refresh
  const compare = () => (asking ??= api.get("report", asked));
  queueMicrotask(() => later(body, asked, first, still, compare));
  const timer = setInterval(async () => {
    // Nobody's place on the page is taken away: not while something in it has the focus or stands open.
    if (document.hidden || body.contains(document.activeElement) || body.querySelector("details[open]")) return;
    try {
      const found = await load();
      if (still()) { trouble(""); fill(found); later(body, asked, found, still, compare); }
    } catch (problem) {
      if (still()) missed(problem, fail);
    }
  }, EVERY);
  const choose = el("select", { id: "range", onchange: (event) => { location.hash = go("overview", [], { ...only, from: event.target.value }); } },
    RANGES.map(([name, text]) => el("option", { value: name, selected: name === range }, text)));
  const chips = Object.entries(only).map(([name, value]) => {
    const said = name === "tenant" ? tenantName(value, names[value]) : value || "(none)";
    return el("span", { class: "chip" }, `${name}: `, named(said), el("button", { type: "button", "aria-label": `Show every ${name} again`, onclick: () => {
      const left = { ...asked };
      delete left[name];
      location.hash = go("overview", [], left);
    } }, "×"));
  });
  return {
    nodes: [el("h1", { class: "hidden" }, "Overview"), el("div", { class: "tools" }, el("label", {}, "Range", choose), el("div", { class: "chips" }, chips)), body],
    leave: () => clearInterval(timer),
  };
}

function sections(found, asked, range) {
  const { totals } = found;
  const saved = found.series.map((point) => ({ label: point.at, short: shortTime(point.at), value: point.dollars.saved }));
  const tokens = found.series.map((point) => ({ label: point.at, short: shortTime(point.at), value: point.tokens.saved }));
  const priced = totals.dollars.saved !== null;
  return [
    el("p", { class: "headline" }, sentence(found.headline.replace("No requests yet.", "No requests in this range."))),
    totals.requests === 0 && el("p", {}, "Point a client at this Turnfold: ", el("code", {}, `OPENAI_BASE_URL=${location.origin}/v1`), " or ",
      el("code", {}, `ANTHROPIC_BASE_URL=${location.origin}`), "."),
    el("p", { class: "faint" }, `${found.from.replace("T", " ").replace(":00Z", "")} to ${found.to.replace("T", " ").replace(":00Z", "")}, UTC`),
    tiles(totals),
    priced && el("p", { class: "faint" }, found.dollars_are),
    el("div", { class: "columns" },
      priced ? chart({ title: "Dollars saved", unit: found.step, points: saved, write: money, writeTick: (value) => money(value).replace(/(\.\d\d)00$/, "$1").replace(/\.00$/, "") })
        : el("section", { class: "sheet" }, el("h2", {}, "Dollars saved"), el("p", { class: "faint" }, "No request of known price reported its usage in this range.")),
      chart({ title: "Tokens saved", unit: found.step, points: tokens, write: (value) => `${count(value)}`, writeTick: short })),
    el("div", { class: "columns" },
      groups("By model", "model", found.models, asked),
      groups("By tenant", "tenant", found.tenants, asked),
      el("section", { class: "sheet", id: "tags" }, el("h2", {}, "By tag"), el("p", { class: "faint" }, "Loading …")),
      statuses(found, asked)),
    el("section", { class: "sheet", id: "held-out", hidden: !found.holds_out }, el("h2", {}, "Hold-out"), el("p", { class: "faint" }, "Comparing …")),
    el("div", { class: "columns" },
      el("section", { class: "sheet", id: "latency" }, el("h2", {}, "Latency"), el("p", { class: "faint" }, "Loading …")),
      el("section", { class: "sheet", id: "errors" }, el("h2", {}, "Errors"), el("p", { class: "faint" }, "Loading …"))),
  ];
}

const shortTime = (at) => (at.includes("T") ? at.slice(11, 16) : at.slice(5));

function tiles(totals) {
  const { dollars, tokens, usage, observed } = totals;
  const unknown = dollars.unknown_requests ? `${count(dollars.unknown_requests)} without a known price or usage` : null;
  const shown = [
    ["Requests", count(totals.requests), `${count(totals.failed)} failed`],
    ["Dollars saved", dollarsSaved(dollars), dollars.saved === null ? unknown : [`paid ${money(dollars.paid)} instead of ${money(dollars.without_turnfold)}`, unknown].filter(Boolean).join("; ")],
    ["Tokens saved", short(tokens.saved), tokens.before > 0 && `${share(tokens.saved_share)} of ${short(tokens.before)}`],
    ["Cache hits", share(usage.cached_share), "of prompt tokens, as reported by the upstream"],
    ["Added latency", ms(totals.ms.overhead_mean), "Turnfold overhead, mean per request"],
    ["Folded", count(totals.folds.requests), `served, including recoveries; ${plural(totals.folds.events, "fold event")}`],
  ];
  if (observed.requests) shown.push(["Only observed", count(observed.requests), `would send ${short(observed.tokens_after)} of ${short(observed.tokens_before)} tokens`]);
  return el("dl", { class: "tiles" }, shown.map(([name, value, more]) => el("div", { class: "tile" }, el("dt", {}, name), el("dd", {}, value, more && el("small", {}, more)))));
}

function groups(title, kind, listed, asked) {
  const rows = listed.map((group) => {
    const value = group[kind];
    const text = kind === "tenant" ? tenantName(value, group.name) : value || "(none)";
    const isRest = /^\(\d+ more\)$/.test(value);
    const shown = kind === "tenant" ? named(value, text) : named(text);
    const name = isRest || kind in asked ? shown : el("a", { href: go("overview", [], { ...asked, [kind]: value }) }, shown);
    return [name, count(group.requests), dollarsSaved(group.dollars), short(group.tokens.saved), share(group.tokens.saved_share), share(group.usage.cached_share)];
  });
  const heads = [kind, "requests", "$ saved", "tokens saved", "share", "cached"];
  return el("section", { class: "sheet" }, rows.length ? table(title, heads, rows) : [el("h2", {}, title), el("p", { class: "faint" }, "No requests in this range.")],
    kind === "tag" && rows.length > 0 && el("p", { class: "faint" }, "A request with several tags counts under each of them, and once in the totals."));
}

const dollarsSaved = ({ saved, unknown_requests: unknown }) => (saved === null ? (unknown ? "unknown" : "–") : money(saved));

function statuses(found, asked) {
  const rows = found.statuses.map((one) => [
    el("a", { href: go("requests", [], { status: one.status, reason: one.reason || null, tenant: asked.tenant, model: asked.model, tag: asked.tag }) }, badge(one.status), one.reason && ` ${one.reason}`),
    one.words, count(one.requests), one.failed ? count(one.failed) : "–"]);
  return el("section", { class: "sheet" }, rows.length ? table("Outcome of requests", ["status", "why", "requests", "failed"], rows, { wrap: [0, 1] })
    : [el("h2", {}, "Outcome of requests"), el("p", { class: "faint" }, "No requests in this range.")]);
}

// What takes longer than the rest, each on its own: none keeps the others waiting.
function later(body, asked, found, still, compare) {
  const put = (id, node) => { if (still()) body.querySelector(`#${id}`)?.replaceWith(node); };
  const tell = (id, title) => (problem) => put(id, el("section", { class: "sheet", id }, el("h2", {}, title), el("p", { class: "problem" }, problem.message)));
  const narrowed = { tenant: asked.tenant, model: asked.model, tag: asked.tag };
  api.get("overview/tags", asked).then(({ tags }) => {
    const node = groups("By tag", "tag", tags, asked);
    node.id = "tags";
    put("tags", node);
  }).catch(tell("tags", "By tag"));
  api.get("requests", { ...narrowed, limit: 200 }).then(({ requests }) => put("latency", latency(found, requests))).catch(tell("latency", "Latency"));
  Promise.all([api.get("ledger"), api.get("requests", { ...narrowed, failed: true, limit: 8 })])
    .then(([ledger, failed]) => put("errors", errors(found, ledger, failed.requests))).catch(tell("errors", "Errors"));
  if (found.holds_out && asked.tag === undefined) {
    compare().then((report) => put("held-out", heldOut(report.held_out))).catch(tell("held-out", "Hold-out"));
  } else if (found.holds_out) {
    put("held-out", el("section", { class: "sheet", id: "held-out" }, el("h2", {}, "Hold-out"), el("p", { class: "faint" }, "The comparison is not available by tag: remove the tag to see it.")));
  }
}

function percentile(values, part) {
  const sorted = values.filter((value) => typeof value === "number").sort((a, b) => a - b);
  return sorted.length ? sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] : null;
}

function latency(found, requests) {
  const rows = [["Added by Turnfold", "overhead_mean", "overhead_ms"], ["To the first byte", "first_byte_mean", "first_byte_ms"], ["To the end", "total_mean", "total_ms"]]
    .map(([name, mean, one]) => [name, ms(found.totals.ms[mean]), ...[0.5, 0.95].map((part) => ms(percentile(requests.map((request) => request[one]), part)))]);
  return el("section", { class: "sheet", id: "latency" }, table("Latency", ["time", "mean in range", "median*", "95%*"], rows), requests.length > 0 && el("p", { class: "faint" }, `* of the newest ${requests.length === 1 ? "request" : plural(requests.length, "request")}.`));
}

function errors(found, { ledger, store, background, damaged_records: damaged }, failed) {
  const { totals } = found;
  const damagedNumber = Object.values(damaged).reduce((sum, number) => sum + number, 0);
  const problem = store.problem || ledger.problem;
  const open = found.statuses.filter((one) => one.status === "failed-open").reduce((sum, one) => sum + one.requests, 0);
  const facts = [["Not served by the upstream", count(totals.failed)], ["Response cut short", count(totals.incomplete)], ["Sent unfolded because Turnfold failed", count(open)],
    ["Receipts dropped since the start", count(ledger.dropped)], ["Damaged records skipped", count(damagedNumber)], ["Store", problem ? `${problem}; receipts waiting: ${count(ledger.queued)}` : "in use"]];
  return el("section", { class: "sheet", id: "errors" }, el("h2", {}, "Errors"),
    el("dl", { class: "facts" }, facts.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)))),
    background.length > 0 && el("details", {}, el("summary", {}, `${plural(background.length, "failure")} in the background`), el("ul", {}, background.map((one) => el("li", {}, el("code", {}, JSON.stringify(one)))))),
    failed.length ? table("Newest failures, including Turnfold's own", ["when", "status", "upstream", "model"], failed.map((one) => [
      el("a", { href: go("request", [one.request_id], { at: Math.floor(one.at) }) }, moment(one.at)), badge(one.status), outcome(one), named(one.model || "(unknown)")]), { wrap: [3], texts: [1, 2, 3], level: "h3" })
      : el("p", { class: "faint" }, "No failed request within a month."));
}

const COMPARED = [["prompt_tokens", "Prompt tokens", (value) => count(Math.round(value))], ["completion_tokens", "Completion tokens", (value) => value.toFixed(1)],
  ["dollars", "Dollars", (value) => `$${value.toFixed(6)}`], ["first_byte_ms", "First byte", ms], ["total_ms", "Whole answer", ms], ["failed_share", "Failed", share]];

function heldOut(sides) {
  if (!sides) return el("section", { class: "sheet", id: "held-out", hidden: true });
  const cell = (value, write) => (value ? `${write(value.mean)} ± ${write(value.plus_minus)}` : "–");
  const rows = [["Conversations", count(sides.held_out.conversations), count(sides.others.conversations)], ["Requests", count(sides.held_out.requests), count(sides.others.requests)],
    ...COMPARED.map(([name, title, write]) => [title, cell(sides.held_out[name], write), cell(sides.others[name], write)])];
  return el("section", { class: "sheet", id: "held-out" }, table("Hold-out: unfolded conversations compared with the others", ["mean per request", "held out", "others"], rows),
    el("p", { class: "faint" }, "± is half of a 95% confidence interval over conversations."));
}
