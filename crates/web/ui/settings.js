// What this browser was told to do: kept in localStorage, and nowhere else.

import {h} from "./dom.js";
import {post} from "./wire.js";

const NAME = "atlasbridge";
const settings = {theme: "auto", screen: "auto", sound: false, notify: false};
try {
	Object.assign(settings, JSON.parse(localStorage.getItem(NAME)));
} catch { /* Unreadable, or a browser that keeps nothing: the settings hold until the tab is closed. */ }

function set(name, value) {
	settings[name] = value;
	apply();
	localStorage.setItem(NAME, JSON.stringify(settings));
}

const dark = matchMedia("(prefers-color-scheme: dark)");
dark.addEventListener("change", apply);

export function apply() {
	const {dataset} = document.documentElement;
	dataset.theme = settings.theme === "auto" ? (dark.matches ? "dark" : "light") : settings.theme;
	dataset.screen = settings.screen === "auto" ? dataset.theme : settings.screen;
}

let context;

/** A short tone, made here. */
function beep() {
	context ??= new AudioContext();
	context.resume();
	const tone = new OscillatorNode(context, {frequency: 740});
	tone.connect(new GainNode(context, {gain: 0.08})).connect(context.destination);
	tone.start();
	tone.stop(context.currentTime + 0.2);
}

/** Something arrived: tells it as far as that was switched on. `show` brings the page to it. */
export function alertOf(title, body, tag, show) {
	if (settings.sound) beep();
	if (!settings.notify || document.hasFocus()) return;
	try {
		const notification = new Notification(title, {body, tag, icon: "/assets/icon.svg"});
		notification.onclick = () => {window.focus(); show(); notification.close();};
	} catch { /* Some phones have the name but not the thing; sound and the page's title remain. */ }
}

function choice(label, name, faces) {
	return h("label.field", label, h("select", {onchange: (event) => set(name, event.target.value)},
		Object.entries(faces).map(([value, face]) => h("option", {value, selected: settings[name] === value}, face))));
}

function toggle(label, name, note, turnOn) {
	const status = h("small", note);
	const box = h("input", {type: "checkbox", checked: settings[name], onchange: async () => {
		const problem = box.checked && await turnOn();
		if (problem) status.textContent = problem;
		set(name, box.checked &&= !problem);
	}});
	return h("label.check", box, h("span", label, status));
}

async function allowNotifications() {
	if (!window.Notification || !isSecureContext) return "This browser shows notifications only over https, or on the very machine.";
	return await Notification.requestPermission() === "granted" ? "" : "The browser does not allow it: see its permissions for this page.";
}

/** Settings and help, in one dialog. */
export function openSettings(me) {
	const keys = {"j k": "select a prompt", "1 – 9": "point at an answer of the selected prompt", Enter: "send the answer pointed at", t: "write a text", Esc: "let go", "?": "this help"};
	const themes = {light: "light", dark: "dark"};
	const dialog = h("dialog", {"aria-labelledby": "settings-title", onclose: () => dialog.remove()},
		h("div.row", h("h2", {id: "settings-title"}, "Settings"), h("button.quiet.round", {"aria-label": "Close", onclick: () => dialog.close()}, "✕")),
		toggle("Notifications", "notify", "when a prompt arrives while you look elsewhere", allowNotifications),
		toggle("Sound", "sound", "a short tone when a prompt arrives", () => beep()),
		choice("Colours", "theme", {auto: "as the system", ...themes}),
		choice("Live screen", "screen", {auto: "as the page", ...themes}),
		h("h3", "Keys"), h("dl.keys", Object.entries(keys).map(([key, what]) => [h("dt", h("kbd", key)), h("dd", what)])),
		h("div.row.foot", h("small", `${me.visitor} · AtlasBridge ${me.version}`),
			h("button", {onclick: () => post("/api/logout").finally(() => location.replace("/"))}, "Sign out")));
	document.body.append(dialog);
	dialog.showModal();
}
