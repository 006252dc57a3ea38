// Elements and figures.
//
// Lives here: making elements (text is always text, never markup), and how numbers are written. Does not belong here: any view.

export function el(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

// A sentence of the server's, in which commands stand between backticks.
export const sentence = (text) => text.split("`").map((part, i) => (i % 2 ? el("code", {}, part) : part));

const whole = new Intl.NumberFormat("en");

export const count = (number) => whole.format(number ?? 0);

export function short(number) {
  const size = Math.abs(number);
  if (size < 10_000) return count(number);
  if (size < 1_000_000) return `${count(Math.round(number / 1e3))} k`;
  return `${(number / 1e6).toLocaleString("en", { minimumFractionDigits: 1, maximumFractionDigits: 1 })} M`;
}

export function money(dollars) {
  if (dollars === null || dollars === undefined) return "unknown";
  const size = Math.abs(dollars);
  const text = size >= 1 || size === 0 ? size.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 }) : size.toFixed(4);
  return dollars < 0 && Number(text.replaceAll(",", "")) ? `−$${text}` : `$${text}`;
}

export const share = (value) => (value === null || value === undefined ? "–" : `${(100 * value).toFixed(1)}%`);

export function ms(value) {
  if (value === null || value === undefined) return "–";
  return value < 10 ? `${value.toFixed(1)} ms` : value < 10_000 ? `${count(Math.round(value))} ms` : `${(value / 1000).toFixed(1)} s`;
}

export function moment(seconds) {
  const at = new Date(1000 * seconds);
  const text = at.toLocaleString("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", second: "2-digit" });
  return el("time", { datetime: at.toISOString() }, text);
}

export function badge(text, kind = text) {
  return el("span", { class: `badge ${kind.replaceAll(/[^a-z-]/g, "")}` }, text);
}

// A name that somebody chose: of any length and in any script, and neither breaks the line it stands in. `shown` is less of it.
export function name(text, shown = text) {
  return el("bdi", { class: "name", title: text.length > 24 || shown !== text ? text : null }, shown);
}

// The beginning of an id, by characters and not by halves of one.
export const brief = (id) => (id.length > 12 ? `${[...id].slice(0, 10).join("")}…` : id);

export const plural = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;

// What the upstream made of a request that failed.
export function outcome({ upstream_status: status, complete }) {
  if (status === null || status === undefined) return "no answer";
  return complete || status < 200 || status > 299 ? `HTTP ${status}` : "broke off";
}

// A table below its title. `wrap` columns hold sentences or long names, `texts` columns hold words; all others hold figures. With
// `cards` a row becomes a card where the window is narrow. The title stays in sight while the table is scrolled sideways.
export function table(title, heads, rows, { cards = false, wrap = [0], texts = [], level = "h2" } = {}) {
  const kind = (i) => [wrap.includes(i) && "wrap", (i === 0 || wrap.includes(i) || texts.includes(i)) && "text"].filter(Boolean).join(" ") || null;
  const cells = (row) => row.map((cell, i) => el(i === 0 ? "th" : "td", { scope: i === 0 ? "row" : null, class: kind(i), "data-label": cards && i ? heads[i] : null }, cell));
  return [
    el(level, {}, title),
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `${title}, table` },
      el("table", { class: cards ? "cards" : null, "aria-label": title },
        el("thead", {}, el("tr", {}, heads.map((head, i) => el("th", { scope: "col", class: kind(i) }, head)))),
        el("tbody", {}, rows.map((row) => el("tr", { class: row.fresh ? "fresh" : null }, cells(row)))))),
  ];
}
