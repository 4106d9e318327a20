// One prompt, and the ways to answer it. It says only what the hub has said: an answer that was sent is not an end.

import {announce, clock, fill, h, moment, quoted, ticking, visible} from "./dom.js";
import {say} from "./wire.js";

const doing = (card) => (card.takes.by_hook ? "answering…" : "typing…");
export const nameOf = (session) => session.label || session.tool;
export const isOver = (card) => ["resolved", "canceled", "failed"].includes(card.status);
const answerOf = (card, me) => card.answered && [quoted(card.answered.value), " · ", card.answered.by === me.visitor ? "you" : quoted(card.answered.by)];
const endOf = (card, me) => h(`p.end.${card.tone}`, h("strong", card.word), card.answered && [" · ", answerOf(card, me)], h("small", card.meaning));

const dialogOf = (card) => h("pre.dialog", {tabindex: 0, role: "group", "aria-label": "What the terminal shows"}, visible(card.detail || card.excerpt));

/** A line to send, or several lines. What `send` has done with it is gone. */
export function lineForm(label, action, {max_length: most, lines, kind}, send) {
	const count = h("span");
	const button = h(`button.${action === "Send" ? "accepts" : "refuses"}`, action);
	button.type = "submit";
	const weigh = () => {
		const length = [...input.value].length;
		count.textContent = `${length}\u00a0/\u00a0${most}`;
		count.className = length > most ? "over" : "";
		button.disabled = !length || length > most;
		button.dataset.off = Number(button.disabled);
	};
	const input = h(lines ? "textarea" : "input", {type: kind === "password" ? kind : "text", autocomplete: "off", autocapitalize: "off", enterkeyhint: lines ? "enter" : "send", oninput: weigh});
	weigh();
	return h("form.line", {onsubmit: async (event) => {
		event.preventDefault();
		if (!await send(input.value)) return;
		input.value = "";
		weigh();
	}}, h("label", h("span", label, count), input), button);
}

/** A card in the page. `update` takes what the hub says now; everything else is asked of the hub. */
export class CardView {
	isSending = false;
	timer = h("span.timer");
	state = h("div");
	answers = h("div.answers");
	problem = h("p.problem", {role: "alert", hidden: true});
	silence = h("p");
	leave = h("button.quiet.small", {onclick: () => this.send({say: "cancel"})}, "Leave it to the terminal");

	constructor(card, me, isLinked = true) {
		const {session, kind, id} = card;
		const isRepeated = !card.detail || card.detail.trim() === card.excerpt.trim();
		this.me = me;
		this.element = h("article.card", {"aria-labelledby": `card-${id}`, tabindex: -1, "data-prompt": id, "data-asked": card.asked_at},
			h("header", h("div", h("h2", {id: `card-${id}`}, quoted(nameOf(session)), h("span.dim", " ", card.wants)),
				h("p.dim", session.label && [h("b", visible(session.tool)), " "], "in ", quoted(session.cwd, "code"))), this.timer),
			!isRepeated && kind !== "idle" && h("p.question", {dir: "auto"}, visible(card.excerpt)),
			dialogOf(card),
			kind === "password" && !card.takes.text && h("p.note", "Type it at the terminal: secrets_over_channels is switched off."),
			card.confidence === "low" && h("p.note", "No known dialog was recognised. Look at the screen before you send anything."),
			this.state, this.answers, this.problem,
			h("footer", this.silence, h("span.links", h("span.hint", "1–9 points, Enter sends"), this.leave, moment(card.asked_at),
				isLinked && h("a", {href: `#/session/${session.id}`}, kind === "unknown" ? "Show last output" : "Live screen"))));
		this.update(card);
	}

	update(card) {
		const isSame = this.card?.is_open === card.is_open;
		this.card = card;
		this.endsAt = card.seconds_left === null ? null : Date.now() + card.seconds_left * 1000;
		ticking(this.timer, () => this.left());
		fill(this.silence, card.is_open && quoted(card.if_nobody_answers));
		if (!isSame) this.offer();
		this.show();
	}

	left() {
		if (!this.card.is_open || !this.endsAt) return "";
		const seconds = (this.endsAt - Date.now()) / 1000;
		this.element.classList.toggle("late", seconds < 60);
		return seconds > 0 ? clock(seconds) : "time is up";
	}

	/** Where it stands: what the hub proved, or that we are waiting for its word. */
	show() {
		const {card, answers, isSending} = this;
		const hadFocus = answers.contains(document.activeElement);
		fill(this.state, isSending ? h("p.end.busy", h("strong", doing(card)), h("small", "Waiting for the session's word.")) : !card.is_open && endOf(card, this.me));
		answers.hidden = !card.is_open && !isSending;
		this.leave.hidden = !card.is_open;
		for (const control of [...answers.querySelectorAll("button, input, textarea"), this.leave]) control.disabled = isSending || control.dataset.off === "1";
		if (hadFocus && !answers.contains(document.activeElement)) this.element.focus({preventScroll: true});
	}

	/** The ways to answer. Refusing ones stand apart from the others; nothing has the focus by itself. */
	offer() {
		const {card} = this;
		const groups = [[], []];
		const add = (effect, face, answer, key) => groups[Number(effect === "refuses")].push(
			h(`button.answer.${effect}`, {onclick: () => this.send(answer)}, key && h("kbd", String(key)), h("span", face)));
		card.choices.forEach(({label, effect}, row) => add(effect, quoted(label), {choice: row}, row + 1));
		if (["confirm_enter", "unknown", "free_text"].includes(card.kind)) add("other", card.kind === "unknown" ? "Send Enter" : "Press Enter", {say: "enter"}, 1);
		const {takes} = card;
		if (takes.reason) groups[1].push(h("details", h("summary", "Deny with a reason…"), lineForm(takes.reason_at_once ? "Reason, heard with the refusal" : "Reason, sent as the next instruction", "Deny", card, (text) => this.send({deny_with_reason: text}))));
		const label = {idle: "Next instruction", multiple_choice: takes.several ? `Your own answer, or ${takes.rows}: 1,2` : "Your own answer"}[card.kind] ?? "Answer";
		fill(this.answers, takes.text && lineForm(label, "Send", {...card, ...takes}, (text) => this.send({text})), h("div.choices", groups.map((group) => group.length > 0 && h("div", group))));
	}

	async send(answer) {
		if (this.isSending || !this.card.is_open) return;
		this.isSending = true;
		this.complain("");
		this.show();
		announce(`${nameOf(this.card.session)}: ${doing(this.card)}`);
		try {
			const {prompt} = await say(`/api/prompts/${this.card.id}/answer`, {nonce: this.card.nonce, answer});
			this.isSending = false;
			this.update(prompt);
		} catch (refusal) {
			this.isSending = false;
			this.complain(refusal.message);
			this.show();
		}
		this.element.dispatchEvent(new CustomEvent("answered", {bubbles: true, detail: this.card.id}));
	}

	complain(text) {
		this.problem.hidden = !text;
		fill(this.problem, visible(text));
	}
}

/** A prompt in one line, the whole dialog on demand. */
export function pastPrompt(card, me, isNamed = true) {
	return h("li.past", {"data-key": card.id}, h("details",
		h("summary", moment(card.asked_at), h("span.what", isNamed && [h("b", quoted(nameOf(card.session))), " ", h("span.dim", card.wants)], h("span.excerpt", visible(card.excerpt.trim()))),
			h("span.how", h(`span.tag.${card.tone}`, card.word), " ", h("small", answerOf(card, me)))),
		h("div.more", dialogOf(card), endOf(card, me), h("p.dim", "Prompt ", h("code", card.code), card.reason && [" · ", quoted(card.reason)],
			isNamed && [" · ", h("a", {href: `#/session/${card.session.id}`}, "its session")]))));
}
