// The inbox: what waits for somebody, newest first. Cards outlive a look at another view, and half-written texts with them.

import {CardView, isOver, nameOf} from "./card.js";
import {desk} from "./desk.js";
import {announce, fill, h, isWriting} from "./dom.js";
import {get} from "./wire.js";

/** How long a prompt's end stands here before only history has it. */
const LINGER_MS = 7000;
/** After the cards have moved, a tap that was meant for what stood there before does nothing for this long. */
const STILL_MS = 500;

const views = new Map();
const list = h("div.cards");
const empty = h("div.empty");
let still;

function moved() {
	list.classList.add("moving");
	clearTimeout(still);
	still = setTimeout(() => list.classList.remove("moving"), STILL_MS);
}

const isListed = (view) => desk.prompts.some((card) => card.id === view.card.id);

function arrange() {
	for (const card of desk.prompts) {
		const view = views.get(card.id);
		if (view && !view.isLeaving) view.update(card);
		else if (!view) place(card);
	}
	for (const view of views.values()) if (!isListed(view)) learnEnd(view);
	tellEmpty();
}

function place(card) {
	const view = new CardView(card, desk.me);
	views.set(card.id, view);
	list.insertBefore(view.element, [...list.children].find((other) => other.dataset.asked < card.asked_at) ?? null);
	moved();
}

/** The hub no longer lists it: asks what became of it, unless the answer to our own answer told it. */
async function learnEnd(view) {
	if (view.isLeaving || view.isSending) return;
	view.isLeaving = true;
	if (!isOver(view.card)) {
		const story = await get(`/api/sessions/${view.card.session.id}`).catch(() => null);
		if (isListed(view)) {
			view.isLeaving = false;
			return;
		}
		const end = story?.prompts.find((card) => card.id === view.card.id);
		view.update(end ?? {...view.card, is_open: false, word: "no longer waiting"});
	}
	announce(`${nameOf(view.card.session)}: ${view.card.word}`);
	setTimeout(leave, LINGER_MS, view);
}

function leave({element, card}) {
	const next = element.nextElementSibling ?? element.previousElementSibling ?? document.querySelector("h1");
	if (element.contains(document.activeElement)) next?.focus({preventScroll: true});
	element.remove();
	views.delete(card.id);
	moved();
	tellEmpty();
}

list.addEventListener("answered", ({detail}) => {
	const view = views.get(detail);
	if (view && !isListed(view)) learnEnd(view);
});

function tellEmpty() {
	const running = desk.sessions.length;
	empty.hidden = views.size > 0;
	fill(empty, h("img", {src: "/assets/icon.svg", alt: "", width: 44}), h("p", h("strong", "Nothing waits for you.")),
		running ? h("p", "What ", h("a", {href: "#/sessions"}, running === 1 ? "the running session asks" : `${running} running sessions ask`), " appears here by itself.")
			: h("p", "Start a tool with ", h("code", "atlasbridge run claude"), "; what it asks appears here."));
}

export function inbox(root, {prompt}) {
	root.append(h("h1", {tabindex: -1}, "Inbox"), list, empty);
	arrange();
	views.get(prompt)?.element.focus();
	desk.addEventListener("change", arrange);
	document.addEventListener("keydown", onKey);
	return () => {
		desk.removeEventListener("change", arrange);
		document.removeEventListener("keydown", onKey);
	};
}

/** A single key selects or points, it never sends: that takes Enter, on an answer that has the focus. */
function onKey(event) {
	const {key} = event;
	const card = document.activeElement.closest(".card");
	if (key === "Escape" && card) document.activeElement === card ? card.blur() : card.focus();
	if (isWriting(event)) return;
	if (key === "j" || key === "k") select(card, key === "j" ? 1 : -1);
	else if (card && /^[1-9]$/.test(key)) [...card.querySelectorAll(".answer")].find((button) => button.firstChild.textContent === key)?.focus({focusVisible: true});
	else if (card && key === "t") card.querySelector("input, textarea")?.focus();
	else return;
	event.preventDefault();
}

function select(card, step) {
	const cards = [...list.children];
	const next = card ? cards[cards.indexOf(card) + step] ?? card : cards.at(step > 0 ? 0 : -1);
	next?.focus({preventScroll: true, focusVisible: true});
	next?.scrollIntoView({block: "nearest"});
}
