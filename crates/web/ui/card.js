// One prompt, and the ways to answer it. It says only what the hub has said: an answer that was sent is not an end.

import {announce, clock, fill, h, moment, quoted, ticking, visible} from "./dom.js";
import {post} from "./wire.js";

const KINDS = {
	yes_no: "asks yes or no", confirm_enter: "waits for Enter", multiple_choice: "asks you to choose", free_text: "asks for a text",
	password: "asks for a password", idle: "has finished and waits for its next instruction", unknown: "seems to wait for something",
};

/** How each of the hub's words for an end looks, and what it means. */
const ENDS = {
	applied: ["good", "The tool took the answer."],
	"expired, safe default applied": ["wary", "Nobody answered in time."],
	expired: ["wary", "Nobody answered in time. Nothing was typed; it can be answered at the terminal."],
	"answered at the terminal": ["calm", "Somebody typed the answer at the keyboard."],
	"answered by something else": ["bad", "Neither AtlasBridge nor the keyboard answered it. Look at the session."],
	canceled: ["calm", "Nothing was typed."],
	"prompt changed": ["bad", "The screen showed something else by then. Nothing was typed."],
	unknown: ["bad", "The session ended before it could say. Look at the terminal."],
	failed: ["bad", "The answer did not reach the tool."],
	queued: ["calm", "Another prompt of this session comes first."],
};

export const kindOf = (card) => (card.confidence === "low" ? "possible prompt: " : "") + (KINDS[card.kind] ?? card.kind);
export const nameOf = (session) => session.label || session.tool;
const toneOf = (card) => ENDS[card.word]?.[0] ?? "busy";
export const isOver = (card) => ["resolved", "canceled", "failed"].includes(card.status);
const answerOf = (card, me) => card.answered && [quoted(card.answered.value), " · ", card.answered.by === me.visitor ? "you" : quoted(card.answered.by)];
const endOf = (card, me) => h(`p.end.${toneOf(card)}`, h("strong", card.word), card.answered && [" · ", answerOf(card, me)], h("small", ENDS[card.word]?.[1]));

const dialogOf = (card) => h("pre.dialog", {tabindex: 0, role: "group", "aria-label": "What the terminal shows"}, visible(card.detail || card.excerpt));

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
			h("header", h("div", h("h2", {id: `card-${id}`}, quoted(nameOf(session)), h("span.dim", " ", kindOf(card))),
				h("p.dim", session.label && [h("b", visible(session.tool)), " "], "in ", quoted(session.cwd, "code"))), this.timer),
			!isRepeated && kind !== "idle" && h("p.question", {dir: "auto"}, visible(card.excerpt)),
			dialogOf(card),
			kind === "password" && h("p.note", card.takes.text ? "What you send is typed once; it is neither stored nor shown."
				: "Type it at the terminal: passwords are not taken from here unless secrets_over_channels is switched on."),
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
		fill(this.silence, card.is_open && ["If nobody answers: ", !this.endsAt ? "it waits." : card.silence ? quoted(card.silence) : "nothing is typed."]);
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
		fill(this.state, isSending ? h("p.end.busy", h("strong", "typing…"), h("small", "Waiting for the session's word.")) : !card.is_open && endOf(card, this.me));
		answers.hidden = !card.is_open && !isSending;
		this.leave.hidden = !card.is_open;
		for (const control of [...answers.querySelectorAll("button, input"), this.leave]) control.disabled = isSending || control.dataset.off === "1";
		if (hadFocus && !answers.contains(document.activeElement)) this.element.focus({preventScroll: true});
	}

	/** The ways to answer. Refusing ones stand apart from the others; nothing has the focus by itself. */
	offer() {
		const {card} = this;
		const groups = [[], []];
		const add = (effect, face, answer, key) => groups[Number(effect === "refuses")].push(
			h(`button.answer.${effect}`, {onclick: () => this.send(answer)}, key && h("kbd", String(key)), h("span", face)));
		card.choices.forEach(({label, effect}, row) => add(effect, quoted(label), {choice: row}, row + 1));
		if (["confirm_enter", "unknown", "free_text"].includes(card.kind)) add("other", "Press Enter", {say: "enter"}, 1);
		if (card.takes.reason) groups[1].push(h("details", h("summary", "Deny with a reason…"), this.lineForm("Reason, handed to the tool", "Deny", (text) => ({deny_with_reason: text}))));
		const label = {idle: "Next instruction", password: "Password"}[card.kind] ?? "Answer";
		fill(this.answers, card.takes.text && this.lineForm(label, "Send", (text) => ({text})), h("div.choices", groups.map((group) => group.length > 0 && h("div", group))));
	}

	lineForm(label, action, answer) {
		const most = this.card.max_length;
		const isSecret = label === "Password";
		const count = h("span");
		const send = h(`button.${action === "Send" ? "accepts" : "refuses"}`, action);
		send.type = "submit";
		const weigh = () => {
			const length = [...input.value].length;
			count.textContent = `${length}\u00a0/\u00a0${most}`;
			count.className = length > most ? "over" : "";
			send.disabled = !length || length > most;
			send.dataset.off = Number(send.disabled);
		};
		const input = h("input", {type: isSecret ? "password" : "text", autocomplete: "off", autocapitalize: "off", enterkeyhint: "send", oninput: weigh});
		weigh();
		return h("form.line", {onsubmit: (event) => {event.preventDefault(); this.send(answer(input.value));}}, h("label", h("span", label, count), input), send);
	}

	async send(answer) {
		if (this.isSending || !this.card.is_open) return;
		this.isSending = true;
		this.complain("");
		this.show();
		announce(`${nameOf(this.card.session)}: typing…`);
		try {
			const {prompt} = await post(`/api/prompts/${this.card.id}/answer`, {nonce: this.card.nonce, answer});
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
		h("summary", moment(card.asked_at), h("span.what", isNamed && [h("b", quoted(nameOf(card.session))), " ", h("span.dim", kindOf(card))], h("span.excerpt", visible(card.excerpt.trim()))),
			h("span.how", h(`span.tag.${toneOf(card)}`, card.word), " ", h("small", answerOf(card, me)))),
		h("div.more", dialogOf(card), endOf(card, me), h("p.dim", "Prompt ", h("code", card.code), card.reason && [" · ", quoted(card.reason)],
			isNamed && [" · ", h("a", {href: `#/session/${card.session.id}`}, "its session")]))));
}
