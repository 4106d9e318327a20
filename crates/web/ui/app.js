// The page: who is signed in, which view is shown, and whether the hub is there.

import {count, desk} from "./desk.js";
import {fill, h, isWriting, ticking} from "./dom.js";
import {inbox} from "./inbox.js";
import {audit, history as past} from "./records.js";
import {session, sessions} from "./sessions.js";
import {apply, openSettings} from "./settings.js";
import {get, hangUp, line, listen, onWake, post} from "./wire.js";

const VIEWS = {inbox, sessions, session, history: past, audit};
const [main, nav, banner, gear] = ["main", "nav", "banner", "settings"].map((id) => document.getElementById(id));
let leave = null;

/** `#/session/ID?prompt=…` → the view, with what it is told. */
function route(event) {
	if (!desk.me || (event && location.hash === "#main")) return;
	const [path, search] = location.hash.replace(/^#\/?/, "").split("?");
	const [word, id] = path.split("/");
	const name = Object.hasOwn(VIEWS, word) ? word : "inbox";
	close();
	desk.view = name[0].toUpperCase() + name.slice(1);
	count();
	for (const link of nav.children) link.ariaCurrent = link.dataset.view.startsWith(name) ? "page" : null;
	leave = VIEWS[name](main, {id, ...Object.fromEntries(new URLSearchParams(search))});
	scrollTo(0, 0);
	if (event && !main.contains(document.activeElement)) main.querySelector("h1").focus({preventScroll: true});
}

function close() {
	leave?.();
	leave = null;
	fill(main);
}

/** Nobody is signed in: says so, and what to do. */
function stayOut(title, why, ...how) {
	hangUp();
	close();
	Object.assign(desk, {me: null, prompts: [], view: ""});
	count();
	nav.hidden = gear.hidden = banner.hidden = true;
	fill(main, h("div.empty", h("img", {src: "/assets/icon.svg", alt: "", width: 52}), h("h1", {tabindex: -1}, title), h("p", why), how));
	main.querySelector("h1").focus();
}

const askToOpen = (title, why) => stayOut(title, why, h("p", "Run ", h("code", "atlasbridge open"), " where your tools run, or ", h("code", "atlasbridge open --qr"), " for a phone. It makes a link that works once, for five minutes."));
const notSignedIn = () => askToOpen("Not signed in", "This browser has no right to this page, or it was taken back.");

/** The link's secret leaves the address bar before anything else happens. Returns why it was refused, if it was. */
async function login() {
	const secret = location.hash.slice(1);
	history.replaceState(null, "", "/");
	return secret && post("/api/login", {secret}).then(() => null, (refusal) => refusal);
}

async function start() {
	const refusal = location.pathname === "/open" && await login();
	const me = await get("/api/me").catch((problem) => problem);
	if (me instanceof Error) {
		if (refusal?.status === 403) askToOpen("This link is used up", "A link opens the page once, within five minutes.");
		else if (me.status === 401 && !refusal) notSignedIn();
		else stayOut("No way in just now", (refusal || me).message, h("button", {onclick: () => location.reload()}, "Try again"));
		return;
	}
	desk.me = me;
	nav.hidden = gear.hidden = false;
	route();
	listen();
}

line.addEventListener("signed-out", () => desk.me && notSignedIn());
line.addEventListener("connection", ({detail: {isUp, again}}) => {
	if (!isUp && desk.me) fill(banner, h("strong", "Reconnecting…"), "The hub does not answer; your tools go on. ",
		ticking(h("span", {"aria-hidden": "true"}), () => `Next try in ${Math.max(0, Math.ceil((again - Date.now()) / 1000))} s.`), h("button.small", {onclick: listen}, "Try now"));
	banner.hidden = isUp || !desk.me;
});
onWake(() => desk.me && listen());
document.addEventListener("keydown", (event) => event.key === "?" && desk.me && !isWriting(event) && openSettings(desk.me));
gear.addEventListener("click", () => openSettings(desk.me));
addEventListener("hashchange", route);
apply();
start();
