// One request: its receipt, and every block folded in it.
//
// Lives here: what is known of one request. Does not belong here: the conversation around it (``conversation``).

import * as api from "./api.js";
import { go } from "./address.js";
import { block } from "./blocks.js";
import { badge, count, el, moment, money, ms, name, share } from "./dom.js";
import { tenantName } from "./overview.js";

export function facts(pairs) {
  return el("dl", { class: "facts" }, pairs.filter(([, value]) => value !== null && value !== undefined && value !== "" && !(Array.isArray(value) && !value.length)).map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
}

export function details(receipt, why) {
  const { usage } = receipt;
  return [
    el("p", {}, badge(receipt.status), " ", why),
    facts([
      ["When", moment(receipt.at)], ["Model", name(receipt.model || "(unknown)")], ["Tenant", name(receipt.tenant, tenantName(receipt.tenant, receipt.tenant_name))],
      ["Tags", receipt.tags.map((tag, i) => [i ? ", " : null, el("bdi", {}, tag)])], ["Format", receipt.wire], ["Session", receipt.session && name(receipt.session)],
      ["Tokens before", count(receipt.tokens_before)], ["Tokens after", count(receipt.tokens_after)],
      ["Prompt, as billed", usage.prompt_tokens === null ? "unknown" : count(usage.prompt_tokens)],
      ["From the cache", usage.cached_tokens === null ? "unknown" : `${count(usage.cached_tokens)} (${share(usage.prompt_tokens ? usage.cached_tokens / usage.prompt_tokens : null)})`],
      ["Completion", usage.completion_tokens === null ? "unknown" : count(usage.completion_tokens)],
      ["Paid", money(receipt.paid)], ["Without Turnfold", money(receipt.without)],
      ["Upstream", receipt.upstream_status === null ? "no answer" : `HTTP ${receipt.upstream_status}`], ["Answer", receipt.upstream_status === null ? null : receipt.complete ? "complete" : "broke off"],
      ["Added latency", ms(receipt.overhead_ms)], ["First byte", ms(receipt.first_byte_ms)], ["Whole answer", ms(receipt.total_ms)],
      ["Next fold at", receipt.folds_at === null ? null : `${count(receipt.folds_at)} tokens`],
    ])];
}

export const blocks = (sections) => (sections.length ? sections.map(block) : el("p", { class: "faint" }, "It has no folded blocks."));

export const recallNote = () => el("p", { class: "faint" },
  "Marked text is Turnfold's own: markers, the fence around quotes, and “…” where something was left out. Passages recalled for the question, and cache marks, are in the request itself, which is not stored: ",
  el("a", { href: "#/inspect" }, "inspect the request’s body"), " to see them.");

export async function request({ parts, values }) {
  const at = Number(values.at);
  // An hour around a known time is found at once; else a month is looked through.
  const range = at > 0 ? { from: at - 3600, to: at + 3600 } : { from: "31d" };
  const { receipt, why, sections, tenant_name } = await api.get(`requests/${encodeURIComponent(parts[0] ?? "")}`, range);
  return {
    nodes: [
      el("h1", {}, "Request ", el("code", {}, receipt.request_id)),
      el("section", { class: "sheet" }, details({ ...receipt, tenant_name }, why),
        receipt.conversation && el("p", {}, el("a", { href: go("conversation", [receipt.tenant, receipt.conversation]) }, "The whole conversation"))),
      el("section", { class: "sheet" }, el("h2", {}, `Folded blocks (${sections.length})`), sections.length > 0 && recallNote(), blocks(sections)),
    ],
  };
}
