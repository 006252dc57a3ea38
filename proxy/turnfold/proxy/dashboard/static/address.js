// Addresses of views, and what is said to screen readers.
//
// Lives here: what every view may use of the page. Does not belong here: any view.

import { SignedOut } from "./api.js";

// go("request", ["tf-1"], {at: 3}) -> "#/request/tf-1?at=3"
export function go(name, parts = [], values = {}) {
  const rest = new URLSearchParams(Object.entries(values).filter(([, value]) => value !== null && value !== undefined)).toString();
  return `#/${[name, ...parts.map(encodeURIComponent)].join("/")}${rest ? `?${rest}` : ""}`;
}

export const announce = (text) => { document.getElementById("announcer").textContent = text; };

// What is shown may be old: the page stays, and goes on asking.
export function trouble(text) {
  const notice = document.getElementById("trouble");
  notice.hidden = !text;
  if (notice.textContent !== text) notice.textContent = text;
}

// A refresh failed: who is signed out has to sign in again, everybody else keeps what there is.
export function missed(problem, fail) {
  if (problem instanceof SignedOut) fail(problem);
  else trouble(`Not up to date: ${problem.message}`);
}
