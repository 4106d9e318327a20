// Making elements, and the words for times. Whatever came from elsewhere becomes a text node, never markup.

/** An element: `h("p.note", {hidden: true}, "text", child)`. Functions under `on…` listen; empty children are left out. */
export function h(what, ...rest) {
	const [tag, ...classes] = what.split(".");
	const element = document.createElement(tag);
	if (tag === "button") element.type = tag;
	element.classList.add(...classes);
	if (rest[0]?.constructor === Object) for (const [name, value] of Object.entries(rest.shift())) {
		if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
		else if (typeof value === "boolean") element[name] = value;
		else if (value != null) element.setAttribute(name, value);
	}
	return fill(element, ...rest);
}

export function fill(element, ...children) {
	element.replaceChildren(...children.flat(3).filter(Boolean));
	return element;
}

const UNSEEN = /([\0-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e0fff}])/u;

/** The text with each character named that cannot be seen or turns the text around: nothing can hide in it. */
export const visible = (text) => fill(document.createDocumentFragment(), (text ?? "").split(UNSEEN).map((part, at) =>
	at % 2 ? h("span.odd", `U+${part.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`) : part));

/** Somebody else's words inside ours: isolated, so that they cannot turn ours around. */
export const quoted = (text, what = "bdi") => h(what, visible(text));

/** 75 → `1:15`, for what runs down while one watches. */
export function clock(seconds) {
	return `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;
}

/** `1 h 4 min`, for what has taken its time. */
export function lasted(from, to) {
	const [seconds, minutes, hours] = [1, 60, 3600].map((size) => Math.floor((new Date(to ?? Date.now()) - new Date(from)) / 1000 / size));
	if (!hours) return minutes ? `${minutes} min` : `${seconds} s`;
	return hours < 24 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** A moment: the time today, the date before; the whole of it on hover. */
export function moment(text) {
	const at = new Date(text);
	const isToday = at.toDateString() === new Date().toDateString();
	const day = isToday ? {} : {month: "short", day: "numeric"};
	return h("time", {datetime: text, title: at.toLocaleString()}, at.toLocaleString([], {...day, hour: "2-digit", minute: "2-digit"}));
}

/** Says something to a screen reader, whatever has the focus. */
export function announce(text) {
	const announcer = document.getElementById("announcer");
	fill(announcer, [...announcer.children].slice(-3), h("p", text));
}

const clocks = new Map();
setInterval(() => clocks.forEach((tick, element) => (element.isConnected ? tick() : clocks.delete(element))), 1000);

/** Text that counts by itself: `tell` is asked each second for as long as the element stands in the page. */
export function ticking(element, tell) {
	const tick = () => {element.textContent = tell();};
	clocks.set(element, tick);
	tick();
	return element;
}

/** Whether a key is meant for something else than us. */
export const isWriting = (event) => event.ctrlKey || event.metaKey || event.altKey || event.target.matches?.("input, select, textarea") || document.querySelector("dialog[open]");
