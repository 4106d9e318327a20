// The page: who is signed in, which view is shown, and whether the hub is there.

import { count, desk } from "./desk.js";
import { fill, h, ticking } from "./dom.js";
import { inbox } from "./inbox.js";
import { audit, history as past } from "./records.js";
import { session, sessions } from "./sessions.js";
import { apply, open as openSettings } from "./settings.js";
import { get, hangUp, line, listen, onWake, post } from "./wire.js";

const VIEWS = { "": [inbox, "Inbox", "inbox"], sessions: [sessions, "Sessions", "sessions"], session: [session, "Session", "sessions"],
  history: [past, "History", "history"], audit: [audit, "Audit", "audit"] };

const main = document.getElementById("main");
const nav = document.getElementById("nav");
const banner = document.getElementById("banner");
const gear = document.getElementById("settings");
let leave = null;
let isFirst = true;

/** `#/session/ID?prompt=…` → the view, with what it is told. */
function route() {
  if (!desk.me || location.hash === "#main") return;
  const [path, search] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, id] = path.split("/");
  const [view, title, tab] = VIEWS[name] ?? VIEWS[""];
  leave?.();
  fill(main);
  desk.view = title;
  count();
  for (const link of nav.children) link.toggleAttribute("aria-current", false);
  nav.querySelector(`[data-view=${tab}]`).setAttribute("aria-current", "page");
  leave = view(main, { id: id && decodeURIComponent(id), ...Object.fromEntries(new URLSearchParams(search)) });
  scrollTo(0, 0);
  if (!isFirst && !main.contains(document.activeElement)) main.querySelector("h1")?.focus({ preventScroll: true });
  isFirst = false;
}

function signedOut(title, ...body) {
  hangUp();
  leave?.();
  leave = null;
  desk.me = null;
  desk.prompts = [];
  desk.view = "";
  count();
  nav.hidden = gear.hidden = banner.hidden = true;
  fill(main, h("div.empty.door", null, h("img", { src: "/assets/icon.svg", alt: "", width: "52", height: "52" }), h("h1", { tabindex: "-1" }, title), body));
  main.querySelector("h1").focus();
}

const howToOpen = () => h("p", null, "Run ", h("code", null, "atlasbridge open"), " on the machine where your tools run; for a phone, ", h("code", null, "atlasbridge open --qr"), ". It makes a link that works once, for five minutes.");

function notSignedIn() {
  signedOut("Not signed in", h("p", null, "This browser has no right to this page, or it was taken back."), howToOpen());
}

/** The link's secret leaves the address bar before anything else happens. */
async function login() {
  const secret = location.hash.slice(1);
  history.replaceState(null, "", "/");
  if (!secret) return null;
  return post("/api/login", { secret }).then(() => null, (refusal) => refusal);
}

async function start() {
  const refusal = location.pathname === "/open" ? await login() : null;
  try {
    desk.me = await get("/api/me");
  } catch (problem) {
    if (refusal && refusal.status !== 0) signedOut(refusal.status === 429 ? "Too many attempts" : "This link is used up",
      h("p", null, refusal.status === 429 ? "Wait a minute before the next one." : "A link opens the page once, within five minutes."), howToOpen());
    else if (problem.status === 401) notSignedIn();
    else signedOut("The hub does not answer", h("p", null, problem.message), h("button", { type: "button", onclick: () => location.reload() }, "Try again"));
    return;
  }
  nav.hidden = gear.hidden = false;
  route();
  listen();
}

line.addEventListener("signed-out", () => desk.me && notSignedIn());
line.addEventListener("connection", ({ detail: { isUp, again } }) => {
  document.body.classList.toggle("offline", !isUp);
  if (isUp) { banner.hidden = true; return; }
  if (!desk.me) return;
  const left = ticking(h("span"), () => (again - Date.now() > 1000 ? ` Next try in ${Math.ceil((again - Date.now()) / 1000)} s.` : ""));
  const wasHidden = banner.hidden;
  if (wasHidden) fill(banner, h("strong", null, "Reconnecting…"), h("span", null, " The hub does not answer; your tools go on."), h("span.next"), h("button.small", { type: "button", onclick: listen }, "Try now"));
  fill(banner.querySelector(".next"), left);
  banner.hidden = false;
});
onWake(() => desk.me && listen());

let prefix = "";
document.addEventListener("keydown", (event) => {
  if (!desk.me || event.ctrlKey || event.metaKey || event.altKey || event.target.matches?.("input, select, textarea") || document.querySelector("dialog[open]")) return;
  const place = prefix === "g" && { i: "#/", s: "#/sessions", h: "#/history", a: "#/audit" }[event.key];
  prefix = event.key;
  if (place) location.hash = place;
  else if (event.key === "?") openSettings(desk.me);
});
gear.addEventListener("click", () => openSettings(desk.me));
addEventListener("hashchange", route);
apply();
start();
