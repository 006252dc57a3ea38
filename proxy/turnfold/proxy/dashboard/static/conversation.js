// One conversation: its requests in order, and the blocks of the one that is chosen.
//
// Lives here: finding its requests, choosing one. Does not belong here: how a block looks (``blocks``).

import * as api from "./api.js";
import { announce, go } from "./address.js";
import { count, el, name as named, plural, table } from "./dom.js";
import { blocks, details, recallNote } from "./request.js";
import { requestRow } from "./requests.js";

const LOOKS = 10; // calls before the reader is asked whether to look further back

export async function conversation({ parts, values, still, fail }) {
  const [tenant = "", name = ""] = parts;
  const held = new Map();
  let next = null;
  const look = async (times) => {
    for (let i = 0; i < times && still(); i += 1) {
      const found = await api.get("requests", { tenant, conversation: name, limit: 200, before: next });
      for (const one of found.requests) held.set(one.request_id, one);
      next = found.next;
      if (next === null) return;
    }
  };
  await look(LOOKS);
  const list = el("section", { class: "sheet" });
  const chosen = el("section", { class: "sheet" });
  const open = async (one, asked = false) => {
    try {
      const { receipt, why, sections } = await api.get(`requests/${encodeURIComponent(one.request_id)}`, { from: one.at - 3600, to: one.at + 3600 });
      if (!still()) return;
      chosen.replaceChildren(el("h2", { tabindex: "-1" }, "Blocks in request ", el("code", {}, receipt.request_id)), ...details({ ...receipt, tenant_name: one.tenant_name }, why),
        el("h3", {}, `Folded blocks (${sections.length})`), ...[sections.length > 0 && recallNote(), blocks(sections)].flat().filter(Boolean));
      if (asked) chosen.querySelector("h2").focus();
      announce(`Request ${receipt.request_id}: ${plural(sections.length, "folded block")}.`);
    } catch (problem) {
      if (still()) fail(problem);
    }
  };
  const paint = () => {
    const sorted = [...held.values()].sort((a, b) => b.at - a.at);
    const rows = sorted.map((one) => {
      const row = requestRow(one).slice(0, 5);
      row[0] = el("button", { type: "button", class: "link", onclick: () => open(one, true) }, row[0].firstChild);
      return [...row, count(one.folded_sections)];
    });
    list.replaceChildren(...[rows.length ? table(`${plural(rows.length, "request")}, newest first`, ["when", "status", "model", "tokens", "tags", "blocks"], rows, { cards: true, wrap: [2, 4], texts: [1, 2, 4] })
      : el("p", { class: "faint" }, "No request of this conversation in the time searched."),
    next !== null && el("button", { type: "button", onclick: async () => { try { await look(LOOKS); if (still()) paint(); } catch (problem) { fail(problem); } } }, "Look further back")].flat().filter(Boolean));
    return sorted;
  };
  const sorted = paint();
  const wanted = sorted.find((one) => one.request_id === values.request) ?? sorted.find((one) => one.folded_sections) ?? sorted[0];
  if (wanted) await open(wanted); else chosen.hidden = true;
  return { nodes: [el("p", {}, el("a", { href: go("requests") }, "All requests")), el("h1", {}, "Conversation ", el("code", {}, named(name))), list, chosen] };
}
