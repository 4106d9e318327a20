// Sessions: all of them in a list, and one of them with its live screen and its prompts.

import {CardView, isOver, lineForm, nameOf, pastPrompt} from "./card.js";
import {desk} from "./desk.js";
import {fill, h, lasted, moment, quoted, ticking, visible} from "./dom.js";
import {Screen} from "./screen.js";
import {get, post, say} from "./wire.js";

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

function tag({status, exit_code, is_connected, is_waiting, is_paused}) {
	if (status !== "active") return h(`span.tag.${status === "completed" ? "calm" : "bad"}`, status, exit_code !== null && ` · exit ${exit_code}`);
	if (is_paused) return h("span.tag.wary", "paused: too many answers");
	return is_connected ? h(`span.tag.${is_waiting ? "wary" : "good"}`, is_waiting ? "waiting for you" : "running") : h("span.tag.wary", "running, not connected");
}

const facts = (session) => [h("code", visible(session.command.join(" "))), h("span.dim", "in ", quoted(session.cwd, "code")),
	h("span.dim", moment(session.started_at), " · ", ticking(h("span"), () => lasted(session.started_at, session.ended_at)), ` · ${session.prompts} prompt${session.prompts === 1 ? "" : "s"}`)];

function stopButton(session, problem) {
	if (session.status !== "active") return null;
	const stop = () => {
		if (confirm(`Stop ${nameOf(session)}?\n\nIt is asked to end, and ended after three seconds. What it has not saved is lost.`)) post(`/api/sessions/${session.id}/stop`).catch((refusal) => complain(problem, refusal));
	};
	return h("button.refuses.small", {"aria-label": `Stop ${nameOf(session)}`, onclick: stop}, "Stop…");
}

function complain(problem, refusal) {
	problem.textContent = refusal.message;
	problem.hidden = false;
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

/** A tool's next instruction: what waits or was not sent, and a line for another. */
function instructing(element, id, problem) {
	let form, shown;
	const kept = h("div", {role: "status", tabindex: -1});
	const act = (what, body) => say(`/api/sessions/${id}/${what}`, body).then(() => problem.hidden = true, (refusal) => complain(problem, refusal));
	return ({status, instructions}, isOffered) => {
		if (!instructions) return;
		const {queued, unsent} = instructions;
		if (!form) fill(element, kept, form = lineForm("Next instruction", "Send", instructions, (text) => act("send", {text})));
		form.hidden = isOffered || status !== "active";
		if (shown === (shown = queued ?? unsent?.text)) return;
		const back = (face) => h("button.quiet", {onclick: () => {kept.focus(); act("take_back");}}, face);
		fill(kept, queued ? h("p.note", "Sent when it has finished: ", quoted(queued), " ", back("Take it back"))
			: unsent && h("p.problem", `Not sent (${unsent.why}): `, quoted(unsent.text), " ", back("Put it away")));
	};
}

export function session(root, {id}) {
	const problem = trouble();
	const heading = h("h1", {tabindex: -1}, "Session");
	const [about, cards, past] = [h("div.about"), h("div.cards"), h("ol")];
	const next = h("div");
	const instruct = instructing(next, id, problem);
	const stage = h("div.stage", h("section", {"aria-label": "Its prompts"}, cards, next, h("h2", "Its prompts"), past));
	const views = new Map();
	let screen = null;
	root.append(h("a.back", {href: "#/sessions"}, "← Sessions"), heading, about, problem, stage);
	root.className = "wide";

	const unfollow = following(() => {
		const askedAt = performance.now();
		return get(`/api/sessions/${encodeURIComponent(id)}`).then((story) => tell(story, askedAt), (refusal) => {
			if (refusal.status === 404 || refusal.status === 400) fill(about, "There is no such session.");
		});
	});

	function tell({session, prompts}, askedAt) {
		if (!root.contains(heading)) return;
		fill(heading, quoted(nameOf(session)), " ", tag(session));
		fill(about, facts(session), stopButton(session, problem));
		if (!screen && session.status === "active") stage.prepend((screen = new Screen(session.id)).element);
		else if (session.is_connected && session.status === "active") screen?.revive(askedAt);
		const newest = prompts.toSorted((one, other) => (one.asked_at < other.asked_at ? 1 : -1));
		newest.toReversed().forEach(show);
		instruct(session, newest.some(({kind, is_open}) => is_open && kind === "idle"));
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
