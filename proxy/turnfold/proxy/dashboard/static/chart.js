// A bar chart as SVG.
//
// Lives here: from points to bars, ticks and a table that says the same. Does not belong here: what is charted. One chart has one
// unit: dollars and tokens are never drawn on the same axis.

import { el, table } from "./dom.js";

const SVG = "http://www.w3.org/2000/svg";
const HEIGHT = 200;
const EDGE = { left: 58, right: 6, top: 10, bottom: 24 };

function draw(name, attributes, text) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  return node;
}

function ticks(low, high) {
  const span = high - low || 1;
  const rough = span / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((one) => one >= rough);
  const found = [];
  for (let at = Math.floor(low / step); at * step <= high + step / 1e6; at += 1) found.push(at * step);
  if (found.at(-1) < high) found.push(found.at(-1) + step);
  return found;
}

// points: [{label, short, value}], value null where it is not known.
export function chart({ title, unit, points, write, writeTick = write }) {
  const values = points.map((point) => point.value ?? 0);
  const total = values.reduce((sum, value) => sum + value, 0);
  if (!values.some(Boolean)) {
    return el("section", { class: "sheet chart", "aria-label": title }, el("h2", {}, title), el("p", { class: "sum" }, write(0)), el("p", { class: "faint" }, "Nothing in this range."));
  }
  const marks = ticks(Math.min(0, ...values), Math.max(0, ...values));
  const best = points.reduce((found, point) => ((point.value ?? 0) > (found.value ?? 0) ? point : found), points[0]);
  const said = `${title}: ${write(total)} in all, by ${unit} from ${points[0].label} to ${points.at(-1).label}`
    + (best?.value ? `; most on ${best.label}, ${write(best.value)}.` : ".");
  const holder = el("div", {});
  const paint = () => {
    const width = Math.max(260, holder.clientWidth || 520);
    const y = (value) => EDGE.top + ((marks.at(-1) - value) / (marks.at(-1) - marks[0] || 1)) * (HEIGHT - EDGE.top - EDGE.bottom);
    const slot = (width - EDGE.left - EDGE.right) / points.length;
    const svg = draw("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": said });
    for (const mark of marks) {
      svg.append(draw("line", { x1: EDGE.left, x2: width - EDGE.right, y1: y(mark), y2: y(mark), class: mark === 0 ? "zero" : "grid" }));
      svg.append(draw("text", { x: EDGE.left - 8, y: y(mark) + 4, "text-anchor": "end" }, writeTick(mark)));
    }
    const every = Math.ceil(points.length / Math.max(2, Math.floor((width - EDGE.left) / 62)));
    points.forEach((point, i) => {
      const x = EDGE.left + i * slot;
      const value = point.value ?? 0;
      const thick = Math.max(1, Math.min(48, slot * 0.72));
      const bar = { x: x + (slot - thick) / 2, width: thick, y: Math.min(y(value), y(0)), height: Math.abs(y(value) - y(0)), rx: Math.min(2, slot / 6) };
      svg.append(draw("rect", { ...bar, class: value < 0 ? "bar-down" : "bar-up" }));
      const hit = draw("rect", { x, width: slot, y: EDGE.top, height: HEIGHT - EDGE.top - EDGE.bottom, class: "hit" });
      hit.append(draw("title", {}, `${point.label}: ${point.value === null ? "unknown" : write(value)}`));
      svg.append(hit);
      if (i % every === 0) svg.append(draw("text", { x: x + slot / 2, y: HEIGHT - 6, "text-anchor": "middle" }, point.short));
    });
    holder.replaceChildren(svg);
  };
  new ResizeObserver(paint).observe(holder);
  const rows = points.filter((point) => point.value).map((point) => [point.label, write(point.value)]);
  return el("section", { class: "sheet chart", "aria-label": title },
    el("h2", {}, title),
    el("p", { class: "sum" }, write(total)),
    holder,
    el("details", {}, el("summary", { class: "faint" }, "As a table"), table(`${title}, by ${unit}`, [unit, title], rows, { level: "h3" })));
}
