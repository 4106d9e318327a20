// One prompt, and the ways to answer it. It says only what the hub has said: an answer that was sent is not an end.

import { announce, clock, fill, h, moment, quoted, ticking, visible } from "./dom.js";
import { post } from "./wire.js";

const KINDS = {
  yes_no: "asks yes or no",
  confirm_enter: "waits for Enter",
  multiple_choice: "asks you to choose",
  free_text: "asks for a text",
  password: "asks for a password",
  idle: "has finished and waits for its next instruction",
  unknown: "seems to wait for something",
};

export const kindOf = (card) => (card.confidence === "low" ? "possible prompt: " : "") + (KINDS[card.kind] ?? card.kind);

/** How an end looks, and what it means, by the hub's own word for it. */
const ENDS = {
  applied: ["good", "The tool took the answer."],
  "expired, safe default applied": ["wary", "Nobody answered in time."],
  expired: ["wary", "Nobody answered in time. Nothing was typed; it can still be answered at the terminal."],
  "answered at the terminal": ["calm", "Somebody typed the answer at the keyboard."],
  "answered by something else": ["bad", "Neither AtlasBridge nor the keyboard answered it. Look at the session."],
  canceled: ["calm", "Nothing was typed."],
  "prompt changed": ["bad", "The screen showed something else by then. Nothing was typed."],
  unknown: ["bad", "The session ended before it could say what became of the answer. Look at the terminal."],
  failed: ["bad", "The answer did not reach the tool."],
  queued: ["calm", "Another prompt of this session comes first."],
};
export const toneOf = (card) => (ENDS[card.word] ?? ["calm"])[0];
export const isOver = (card) => ["resolved", "canceled", "failed"].includes(card.status);

/** How a session is called: its label, or what was run. */
export const nameOf = (session) => session.label || session.tool;

export function endOf(card, me) {
  const [tone, meaning] = ENDS[card.word] ?? ["calm", ""];
  const by = card.answered && [" · ", quoted(card.answered.value), " by ", card.answered.by === me?.visitor ? "you" : quoted(card.answered.by)];
  return h(`p.end.${tone}`, null, h("strong", null, card.word), by, h("small", null, meaning));
}

let number = 0;

/** A card in the page. `update` takes what the hub says now; everything else is asked of the hub. */
export class CardView {
  constructor(card, me, { isLinked = true } = {}) {
    this.me = me;
    this.isLinked = isLinked;
    this.id = `card-${++number}`;
    this.parts = {
      timer: h("span.timer"), state: h("div.state"), answers: h("div.answers"), problem: h("p.problem", { role: "alert", hidden: true }),
      silence: h("p.silence"),
    };
    this.element = h("article.card", { "aria-labelledby": this.id, tabindex: "-1" });
    this.draw(card);
    this.update(card);
  }

  draw(card) {
    const { session } = card;
    const text = card.detail || card.excerpt;
    const isRepeated = text.trim() === card.excerpt.trim();
    this.element.dataset.kind = card.kind;
    this.element.dataset.prompt = card.id;
    const name = h("h2", { id: this.id }, quoted(nameOf(session)), h("span.kind", null, " ", kindOf(card)));
    fill(this.element,
      h("header", null, h("div", null, name,
        h("p.where", null, session.label ? [h("b", null, visible(session.tool)), " in "] : "in ", quoted(session.cwd, "code"))), this.parts.timer),
      isRepeated || card.kind === "idle" ? null : h("p.question", { dir: "auto" }, visible(card.excerpt)),
      h("pre.dialog", { tabindex: "0", role: "group", "aria-label": "What the terminal shows" }, visible(text)),
      card.kind === "password" ? h("p.note", null, "The terminal hides what is typed here. ",
        card.takes?.text ? "What you send is typed once; it is neither stored nor shown." : "Type it at the terminal: passwords are not taken from here unless secrets_over_channels is switched on.") : null,
      card.confidence === "low" ? h("p.note", null, "No known dialog was recognised. Look at the screen before you send anything.") : null,
      this.parts.state, this.parts.answers, this.parts.problem,
      h("footer", null, this.parts.silence, h("span.links", null, moment(card.asked_at),
        h("span.hint", null, "1–9 points, Enter sends"),
        this.isLinked ? h("a", { href: `#/session/${session.id}` }, card.kind === "unknown" ? "Show last output" : "Live screen") : null)));
  }

  update(card) {
    const isSame = this.card && this.card.nonce === card.nonce && this.card.is_open === card.is_open;
    this.card = card;
    this.endsAt = card.seconds_left === null ? null : Date.now() + card.seconds_left * 1000;
    ticking(this.parts.timer, () => (card.is_open && this.endsAt ? this.left() : ""));
    fill(this.parts.silence, this.silence());
    if (!isSame) this.offer();
    this.show();
  }

  left() {
    const seconds = Math.max(0, (this.endsAt - Date.now()) / 1000);
    this.element.classList.toggle("late", seconds < 60);
    return seconds ? clock(seconds) : "time is up";
  }

  silence() {
    const { card } = this;
    if (!card.is_open) return "";
    if (!this.endsAt) return "Waits without a limit; silence types nothing.";
    return card.silence ? ["If nobody answers: ", quoted(card.silence)] : "If nobody answers: nothing is typed.";
  }

  /** Where it stands: what the hub proved, or that we are waiting for its word. */
  show() {
    const { card, parts } = this;
    this.element.classList.toggle("sending", Boolean(this.isSending));
    this.element.classList.toggle("over", isOver(card));
    if (this.isSending) fill(parts.state, h("p.end.busy", null, h("strong", null, "typing…"), h("small", null, "Waiting for the session's word.")));
    else if (card.is_open) fill(parts.state);
    else if (isOver(card) || ENDS[card.word]) fill(parts.state, endOf(card, this.me));
    else fill(parts.state, h("p.end.busy", null, h("strong", null, card.word)));
    const hadFocus = parts.answers.contains(document.activeElement);
    parts.answers.hidden = !card.is_open && !this.isSending;
    for (const control of parts.answers.querySelectorAll("button, input")) control.disabled = this.isSending || control.dataset.off === "1";
    if (hadFocus && !parts.answers.contains(document.activeElement)) this.element.focus({ preventScroll: true });
  }

  /** The ways to answer. Refusing ones stand apart from the others; nothing has the focus by itself. */
  offer() {
    const { card } = this;
    const button = (style, label, answer, hint) => h(`button.answer${style}`, { type: "button", onclick: () => this.send(answer) }, hint && h("kbd", null, hint), h("span", null, label));
    const rows = card.choices.map((choice, row) => {
      const isDefault = card.silence && choice.label === card.silence;
      const label = [quoted(choice.label), isDefault ? h("small", null, "if nobody answers") : null];
      const style = { accepts: ".accept", refuses: ".refuse" }[choice.effect] ?? "";
      return [choice.effect, button(style, label, { choice: row }, String(row + 1))];
    });
    const say = (style, label, word) => [style === ".refuse" ? "refuses" : "other", button(style, label, { say: word })];
    if (!rows.length && card.kind === "yes_no") rows.push(say(".accept", "Yes", "approve"), say(".refuse", "No", "deny"));
    if (["confirm_enter", "unknown", "free_text"].includes(card.kind)) rows.push(say("", "Press Enter", "enter"));
    else if (card.silence && !card.choices.some((choice) => choice.label === card.silence)) rows.push(say("", ["Use default: ", quoted(card.silence)], "default"));
    const group = (refusing) => rows.filter(([effect]) => (effect === "refuses") === refusing).map(([, element]) => element);
    fill(this.parts.answers,
      card.takes?.text ? this.textForm() : null,
      h("div.choices", null, h("div.group", null, group(false)), h("div.group.apart", null, group(true),
        card.takes?.reason ? this.reasonForm() : null)),
      h("button.quiet.leave", { type: "button", onclick: () => this.send({ say: "cancel" }) }, "Leave it to the terminal"));
  }

  textForm() {
    const isSecret = this.card.kind === "password";
    const label = this.card.kind === "idle" ? "Next instruction" : isSecret ? "Password" : "Answer";
    return this.lineForm(label, "Send", isSecret, (text) => ({ text }));
  }

  reasonForm() {
    const form = this.lineForm("Reason, handed to the tool once it has taken the refusal", "Deny with this reason", false, (reason) => ({ deny_with_reason: reason }));
    const details = h("details.reason", { ontoggle: () => details.open && form.querySelector("input").focus() }, h("summary", null, "Deny with a reason…"), form);
    return details;
  }

  lineForm(label, action, isSecret, answer) {
    const most = this.card.max_length;
    const count = h("span.count");
    const send = h(`button${action === "Send" ? ".accept" : ".refuse"}`, { type: "submit" }, action);
    const weigh = () => {
      const length = [...input.value].length;
      count.textContent = `${length} / ${most}`;
      count.classList.toggle("over", length > most);
      send.dataset.off = length && length <= most ? "" : "1";
      send.disabled = this.isSending || send.dataset.off === "1";
    };
    const input = h("input", { type: isSecret ? "password" : "text", autocomplete: "off", autocapitalize: "off", spellcheck: "false", enterkeyhint: "send", oninput: weigh });
    weigh();
    return h("form.line", { onsubmit: (event) => { event.preventDefault(); if (!send.disabled) this.send(answer(input.value)); } },
      h("label", null, h("span", null, label, count), input), send);
  }

  async send(answer) {
    if (this.isSending || !this.card.is_open) return;
    this.isSending = true;
    this.complain("");
    this.show();
    announce(`${nameOf(this.card.session)}: typing…`);
    try {
      const { prompt } = await post(`/api/prompts/${this.card.id}/answer`, { nonce: this.card.nonce, answer });
      this.isSending = false;
      if (prompt) this.update(prompt);
      else this.show();
      this.element.dispatchEvent(new CustomEvent("answered", { bubbles: true, detail: this.card }));
    } catch (refusal) {
      this.isSending = false;
      this.complain(refusal.message);
      this.show();
    }
  }

  complain(text) {
    this.parts.problem.hidden = !text;
    fill(this.parts.problem, visible(text));
  }
}
