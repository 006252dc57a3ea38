// The page: who is signed in, and which view the address names.
//
// Lives here: signing in, the address, refreshing. Does not belong here: what a view shows (a file each).

import * as api from "./api.js";
import { trouble } from "./address.js";
import { el, sentence } from "./dom.js";
import { overview } from "./overview.js";
import { requests } from "./requests.js";
import { request } from "./request.js";
import { conversation } from "./conversation.js";
import { inspect } from "./inspect.js";

const views = { overview, requests, request, conversation, inspect };
const titles = { overview: "Overview", requests: "Requests", request: "Request", conversation: "Conversation", inspect: "Inspect a request" };
const main = document.getElementById("main");
const nav = document.getElementById("nav");
const signOutButton = document.getElementById("sign-out");
let leave = null; // what the view in sight wants to end when another one comes
let shown = 0;
const AGAIN = 15_000;

// "#/request/tf-1?at=3" -> {name, parts, values}
function address() {
  const [path, rest = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, ...parts] = path.split("/").map((part) => {
    try { return decodeURIComponent(part); } catch { return part; }
  });
  return { name: views[name] ? name : "overview", parts, values: Object.fromEntries(new URLSearchParams(rest)) };
}

// Asked again by itself, for the page may be on a wall while nobody is there; a problem that stays is not told twice.
function fail(problem, again = () => show(false)) {
  if (problem instanceof api.SignedOut) { start(); return; }
  if (main.querySelector(".problem")?.textContent !== problem.message) {
    main.replaceChildren(el("p", { class: "problem", role: "alert" }, problem.message),
      el("p", {}, el("button", { type: "button", onclick: again }, "Try again"), el("span", { class: "faint" }, ` Retrying every ${AGAIN / 1000} seconds.`)));
  }
  const turn = shown;
  setTimeout(() => { if (turn === shown) again(); }, AGAIN);
}

async function show(moved) {
  const turn = ++shown;
  leave?.();
  leave = null;
  trouble("");
  const { name, parts, values } = address();
  document.title = `${titles[name]} – Turnfold`;
  for (const link of nav.querySelectorAll("a")) {
    const here = link.getAttribute("href") === `#/${name}` || (link.textContent === "Requests" && ["request", "conversation"].includes(name));
    if (here) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
  }
  try {
    const made = await views[name]({ parts, values, still: () => turn === shown, fail });
    if (turn !== shown) { made.leave?.(); return; }
    main.replaceChildren(...made.nodes);
    leave = made.leave ?? null;
    if (moved) { (main.querySelector("h1") ?? main).setAttribute("tabindex", "-1"); (main.querySelector("h1") ?? main).focus(); }
  } catch (problem) {
    if (turn === shown) fail(problem);
  }
}

function signInPage(takes, problem) {
  leave?.();
  leave = null;
  document.title = "Sign in – Turnfold";
  nav.hidden = true;
  signOutButton.hidden = true;
  const said = el("p", { class: "problem", role: "alert", hidden: !problem }, sentence(problem ?? ""));
  const token = el("input", { type: "password", name: "token", id: "token", autocomplete: "current-password", required: true });
  const form = el("form", { method: "post", action: "session", onsubmit: async (event) => {
    event.preventDefault();
    try {
      await api.signIn({ token: token.value });
      token.value = "";
      start(true);
    } catch (failure) {
      said.hidden = false;
      said.textContent = failure.message;
      token.focus();
    }
  } }, el("label", { for: "token" }, "Admin token (TURNFOLD_ADMIN_TOKEN)"), token, el("button", { class: "main", type: "submit" }, "Sign in"));
  main.replaceChildren(el("section", { class: "sheet sign-in" }, el("h1", {}, "Sign in"), said, takes.token && form,
    takes.link && el("p", {}, takes.token ? "Or open" : "Open", " the link that ", el("code", {}, "turnfold serve"), " printed when it started; ",
      el("code", {}, "turnfold dashboard"), " prints a new one. A link works once, for ten minutes.")));
}

async function start(moved = false) {
  shown += 1;
  const link = /^#link=(.+)$/.exec(location.hash)?.[1];
  let problem = null;
  try {
    if (link) {
      history.replaceState(null, "", "#/overview"); // it is used up: nothing of it stays in the address
      await api.signIn({ link }).catch((failure) => { problem = failure.message; });
    }
    const { signed_in: signedIn, takes } = await api.session();
    if (!signedIn) { signInPage(takes, problem); return; }
    nav.hidden = false;
    signOutButton.hidden = false;
    await show(moved);
  } catch (failure) {
    fail(failure, () => start(moved));
  }
}

signOutButton.addEventListener("click", async () => { await api.signOut().catch(() => null); start(true); });
document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); main.focus(); });
window.addEventListener("hashchange", () => (location.hash.startsWith("#link=") ? start(true) : location.hash.startsWith("#/") && !nav.hidden && show(true)));
start();
