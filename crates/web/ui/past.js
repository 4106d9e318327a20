// Prompts that were: one line each, the whole dialog on demand.

import { endOf, kindOf, nameOf, toneOf } from "./card.js";
import { h, moment, quoted, visible } from "./dom.js";

export function pastPrompt(card, me, { isNamed = true } = {}) {
  const by = card.answered && [quoted(card.answered.value), " · ", card.answered.by === me?.visitor ? "you" : quoted(card.answered.by)];
  return h("li.past", { "data-prompt": card.id }, h("details", null,
    h("summary", null, moment(card.asked_at), h("span.what", null,
      isNamed ? h("b", null, quoted(nameOf(card.session)), " ") : null, h("span.dim", null, kindOf(card)), h("span.excerpt", null, visible(card.excerpt.trim()))),
    h("span.how", null, h(`span.tag.${toneOf(card)}`, null, card.word), by ? h("small", null, by) : null)),
    h("div.more", null, h("pre.dialog", { tabindex: "0", role: "group", "aria-label": "What the terminal showed" }, visible(card.detail || card.excerpt)),
      endOf(card, me), h("p.dim", null, "Prompt ", h("code", null, card.code), card.reason ? [" · ", quoted(card.reason)] : null,
        isNamed ? [" · ", h("a", { href: `#/session/${card.session.id}` }, "its session")] : null))));
}
