// Sessions: all of them in a list, and one of them with its live screen and its prompts.

import {CardView, isOver, nameOf, pastPrompt} from "./card.js";
import {desk} from "./desk.js";
import {fill, h, lasted, moment, quoted, ticking, visible} from "./dom.js";
import {Screen} from "./screen.js";
import {get, post} from "./wire.js";

/** Asks the hub at most this often, however much changes. */
const PACE_MS = 300;

/** Calls `look` now, and after changes. Returns how to stop. */
function following(look) {
	let timer = null;
	const again = () => {
		timer ??= setTimeout(() => {
			timer = null;
			look();
		}, PACE_MS);
	};
	desk.addEventListener("change", again);
	look();
	return () => {
		desk.removeEventListener("change", again);
		clearTimeout(timer);
	};
}

function tag({status, exit_code, is_connected, is_waiting}) {
	if (status !== "active") return h(`span.tag.${status === "completed" ? "calm" : "bad"}`, status, exit_code !== null && ` · exit ${exit_code}`);
	return is_connected ? h(`span.tag.${is_waiting ? "wary" : "good"}`, is_waiting ? "waiting for you" : "running") : h("span.tag.wary", "running, not connected");
}

const facts = (session) => [h("code", visible(session.command.join(" "))), h("span.dim", "in ", quoted(session.cwd, "code")),
	h("span.dim", moment(session.started_at), " · ", ticking(h("span"), () => lasted(session.started_at, session.ended_at)), ` · ${session.prompts} prompt${session.prompts === 1 ? "" : "s"}`)];

function stopButton(session, problem) {
	if (session.status !== "active") return null;
	const stop = () => {
		if (confirm(`Stop ${nameOf(session)}?\n\nIt is asked to end, and ended after three seconds. What it has not saved is lost.`)) post(`/api/sessions/${session.id}/stop`).catch((refusal) => {problem.textContent = refusal.message; problem.hidden = false;});
	};
	return h("button.refuses.small", {"aria-label": `Stop ${nameOf(session)}`, onclick: stop}, "Stop…");
}

const trouble = () => h("p.problem", {role: "alert", hidden: true});

/** Draws a list anew; what was open stays open, and the focus stays on the same control of the same entry. */
function redraw(list, items, none) {
	const entry = document.activeElement.closest("[data-key]");
	const focused = list.contains(entry) && `[data-key="${entry.dataset.key}"] ${document.activeElement.localName}`;
	const open = [...list.querySelectorAll("[open]")].map((details) => details.parentElement.dataset.key);
	fill(list, items.length ? items : h("li.dim", none));
	for (const item of items) if (open.includes(item.dataset.key)) item.firstChild.open = true;
	if (focused) list.querySelector(focused)?.focus({preventScroll: true});
}

export function sessions(root) {
	const problem = trouble();
	const [running, past] = [h("ul"), h("ul")];
	root.append(h("h1", {tabindex: -1}, "Sessions"), problem, h("h2", "Running"), running, h("h2", "Past"), past);
	const item = (session) => h("li.session", {"data-key": session.id},
		h("div", h("h3", h("a", {href: `#/session/${session.id}`}, quoted(nameOf(session))), " ", tag(session)), h("div.about", facts(session))), stopButton(session, problem));
	return following(() => get("/api/sessions?all=1").then(({sessions}) => {
		const those = (isRunning) => sessions.filter(({status}) => (status === "active") === isRunning).map(item);
		redraw(running, those(true), ["None. Start one with ", h("code", "atlasbridge run claude"), "."]);
		redraw(past, those(false), "None yet.");
	}, () => {}));
}

export function session(root, {id}) {
	const problem = trouble();
	const heading = h("h1", {tabindex: -1}, "Session");
	const [about, cards, past] = [h("div.about"), h("div.cards"), h("ol")];
	const stage = h("div.stage", h("section", {"aria-label": "Its prompts"}, cards, h("h2", "Its prompts"), past));
	const views = new Map();
	let screen = null;
	root.append(h("a.back", {href: "#/sessions"}, "← Sessions"), heading, about, problem, stage);
	root.className = "wide";

	const unfollow = following(() => get(`/api/sessions/${encodeURIComponent(id)}`).then(tell, (refusal) => {
		if (refusal.status === 404 || refusal.status === 400) fill(about, "There is no such session.");
	}));

	function tell({session, prompts}) {
		if (!root.contains(heading)) return;
		fill(heading, quoted(nameOf(session)), " ", tag(session));
		fill(about, facts(session), stopButton(session, problem));
		if (!screen && session.status === "active") stage.prepend((screen = new Screen(session.id)).element);
		else if (session.is_connected) screen?.revive();
		const newest = prompts.toSorted((one, other) => (one.asked_at < other.asked_at ? 1 : -1));
		newest.toReversed().forEach(show);
		redraw(past, newest.filter(isOver).map((card) => pastPrompt(card, desk.me, false)), "None has ended yet.");
	}

	function show(card) {
		const view = views.get(card.id);
		if (view) view.isSending || view.update(card);
		else if (!isOver(card)) {
			views.set(card.id, new CardView(card, desk.me, false));
			cards.prepend(views.get(card.id).element);
		}
	}

	return () => {
		unfollow();
		screen?.end();
		root.className = "";
	};
}
