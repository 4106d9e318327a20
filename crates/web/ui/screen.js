// The live screen of a session: rows that the hub rendered, a cursor, and keys that must be unlocked first.

import {fill, h, visible} from "./dom.js";
import {get, Live} from "./wire.js";

const PARTS = /<(\/?)span([^<>]*)>|<[^<>]*>|([^<]+|<)/g;
const STYLE = /^(bo|di|it|un|st|re|hi|w2)$/;
const COLOUR = /\b(data-)?([fb])(?:="(#[0-9a-f]{6})"|(\d|1[0-5])\b)/gi;
const ENTITIES = {amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'"};

/** A row as we draw it: spans with known classes and colours, and text. It is read here, never given to the browser as markup. */
export function cleanRow(html) {
	const row = document.createDocumentFragment();
	let into = row;
	for (const [part, isEnd, attributes, text] of html.matchAll(PARTS)) {
		if (text) into.append(text.replace(/&(#?\w+);/g, (entity, name) => ENTITIES[name] ?? entity));
		else if (isEnd) into = into.parentNode ?? row;
		else if (attributes !== undefined) into = into.appendChild(styled(attributes));
	}
	return row;
}

function styled(attributes) {
	const span = h("span");
	for (const word of attributes.match(/[a-z]\w+/g) ?? []) if (STYLE.test(word)) span.classList.add(word);
	for (const [, , side, colour, number] of attributes.matchAll(COLOUR)) {
		span.style.setProperty(`--${side}`, colour ?? `var(--${side}${number}, var(--k${number}))`);
		if (side === "b") span.classList.add("on");
	}
	return span;
}

const KEYS = {escape: "Esc", tab: "Tab", up: "↑", down: "↓", left: "←", right: "→", enter: "Enter", backspace: "⌫", ctrl_c: "Ctrl-C", ctrl_d: "Ctrl-D"};

/** The smallest letters that can be read, and the largest of use, in pixels. A screen too wide for the first scrolls. */
const LETTERS = [9, 14.5];

export class Screen {
	rows = [];
	cursor = h("span.cursor", {hidden: true});
	grid = h("pre.grid");
	frame = h("div.frame", {tabindex: 0, role: "region", "aria-label": "Live screen"}, this.grid);
	status = h("p", {role: "status"}, "Connecting…");
	alternate = h("span.tag.calm", {hidden: true}, "alternate screen");
	lines = h("div");
	more = h("button.quiet", {onclick: () => this.toggleLines()}, "Show earlier lines");
	meaning = h("p");
	unlocker = h("button", {onclick: () => this.toggleLock()});
	bar = h("div.keybar", {role: "group", "aria-label": "Keys"}, Object.entries(KEYS).map(([key, face]) => h("button", {"data-key": key, "aria-label": face.length > 1 ? null : key, onclick: () => this.type({t: "key", key})}, face)));
	input = h("input", {autocomplete: "off", autocapitalize: "off", "aria-label": "A line to type", placeholder: "A line to type"});
	enter = h("input", {type: "checkbox", checked: true});
	form = h("form.row", {onsubmit: (event) => this.sendLine(event)}, this.input, h("label.check", this.enter, "then Enter"), h("button", {"data-key": "line", onclick: (event) => this.sendLine(event)}, "Type"));
	problem = h("p.problem", {role: "alert", hidden: true});
	element = h("section.screen", {"aria-label": "Live screen and keys"}, h("div.row", this.status, this.alternate, this.more), this.lines, this.frame,
		h("div.typing", h("div.row", this.meaning, this.unlocker), this.bar, this.form, this.problem));

	constructor(session) {
		this.session = session;
		this.watcher = new ResizeObserver(() => this.fit());
		this.watcher.observe(this.frame);
		this.live = new Live(session, (message) => this.told(message), (isOpen) => this.connected(isOpen));
		this.lock(true);
	}

	/** Each connection begins locked: the hub forgets an unlocking with the connection that it came over. */
	connected(isOpen) {
		this.isOpen = isOpen;
		this.status.textContent = isOpen ? "Live" : "Reconnecting…";
		this.lock(true);
	}

	toggleLock() {
		const wasUnlocked = this.isUnlocked;
		this.lock(wasUnlocked || !this.live.say({t: "unlock"}));
		if (wasUnlocked) this.live.open();
		else this.input.focus();
	}

	lock(isLocked) {
		this.isUnlocked = !isLocked;
		this.meaning.textContent = isLocked ? "Watching only. Unlocked, keys go into the terminal as if typed there."
			: "Unlocked: keys go into the terminal, also into a dialog that waits. Leaving this view locks it again.";
		this.unlocker.textContent = isLocked ? "Unlock typing" : "Lock typing";
		this.unlocker.disabled = !this.isOpen;
		this.element.classList.toggle("stale", !this.isOpen);
		for (const control of [...this.bar.children, ...this.form.querySelectorAll("input, button")]) control.disabled = isLocked;
	}

	sendLine(event) {
		event.preventDefault();
		const text = this.input.value;
		if (text && this.type({t: "text", text, enter: this.enter.checked})) this.input.value = "";
	}

	type(message) {
		const isSent = this.live.say(message);
		this.complain(isSent ? "" : "Not typed: the connection is gone. It is being opened again.");
		return isSent;
	}

	complain(text) {
		this.problem.hidden = !text;
		this.problem.textContent = text;
	}

	told(message) {
		if (message.t === "screen") this.draw(message);
		else if (message.t === "gone") this.gone();
		else if (message.t === "typed") this.complain(message.ok ? "" : message.error ?? "Not typed.");
	}

	draw({columns, height, rows, cursor, alternate, whole}) {
		if (whole || columns !== this.columns || height !== this.rows.length) {
			this.rows = Array.from({length: height}, (_, row) => (!whole && this.rows[row]) || h("div"));
			this.columns = columns;
			this.grid.style.setProperty("--columns", columns);
			fill(this.grid, this.rows, this.cursor);
			this.fit();
		}
		for (const [row, html] of Object.entries(rows)) this.rows[row]?.replaceChildren(cleanRow(html));
		this.alternate.hidden = !alternate;
		this.cursor.hidden = !cursor;
		this.cursor.style.setProperty("--row", cursor?.[0]);
		this.cursor.style.setProperty("--column", cursor?.[1]);
	}

	/** Letters as large as let the whole width be seen: measured, whatever font the browser has chosen. */
	fit() {
		const {width, fontSize} = getComputedStyle(this.grid);
		const size = parseFloat(fontSize) * (this.frame.clientWidth - 26) / parseFloat(width) || LETTERS[1];
		this.grid.style.fontSize = `${Math.max(LETTERS[0], Math.min(LETTERS[1], size))}px`;
	}

	gone() {
		this.goneAt = performance.now();
		this.live.end();
		this.connected(false);
		this.cursor.hidden = true;
		this.status.textContent = "No live screen: the session has ended, or its host is not connected.";
	}

	/** The session's host is connected again, by what was asked then: what was asked before the screen went is old. */
	revive(askedAt) {
		if (!(askedAt > this.goneAt)) return;
		this.goneAt = undefined;
		this.live.open();
	}

	async toggleLines() {
		const isShown = this.lines.hasChildNodes();
		this.more.textContent = isShown ? "Show earlier lines" : "Hide earlier lines";
		if (isShown) return fill(this.lines);
		const text = await get(`/api/sessions/${this.session}/lines`).then(({lines}) => lines.join("\n") || "Nothing has scrolled away yet.", (refusal) => refusal.message);
		const pre = h("pre.frame", {tabindex: 0, role: "region", "aria-label": "Earlier lines, at most a thousand"}, visible(text));
		fill(this.lines, pre);
		pre.scrollTop = pre.scrollHeight;
	}

	end() {
		this.watcher.disconnect();
		this.live.end();
	}
}
