// The inbox: what waits for somebody, newest first. Cards outlive a look at another view, and half-written texts with them.

import { CardView, isOver, nameOf } from "./card.js";
import { desk } from "./desk.js";
import { announce, fill, h } from "./dom.js";
import { get } from "./wire.js";

/** How long a prompt's end stands in the inbox before history has it. */
const LINGER_MS = 7000;
/** After the cards have moved, a tap that was meant for what stood there before does nothing. */
const STILL_MS = 500;

const views = new Map();
const list = h("div.cards");
const empty = h("div.empty");
let stillTimer;

function moved() {
  list.classList.add("moving");
  clearTimeout(stillTimer);
  stillTimer = setTimeout(() => list.classList.remove("moving"), STILL_MS);
}

function arrange() {
  const waiting = new Map(desk.prompts.map((card) => [card.id, card]));
  for (const card of waiting.values()) {
    const view = views.get(card.id);
    if (!view) place(card);
    else if (!view.isLeaving) view.update(card);
  }
  for (const [id, view] of views) if (!waiting.has(id)) learnEnd(view);
  tellEmpty();
}

function place(card) {
  const view = new CardView(card, desk.me);
  views.set(card.id, view);
  const older = [...list.children].find((element) => element.dataset.asked < card.asked_at);
  view.element.dataset.asked = card.asked_at;
  list.insertBefore(view.element, older ?? null);
  moved();
}

/** The hub no longer lists it: asks what became of it, unless its own answer has told already. */
async function learnEnd(view) {
  if (view.isLeaving || view.isSending) return;
  view.isLeaving = true;
  if (!isOver(view.card)) {
    const story = await get(`/api/sessions/${view.card.session.id}`).catch(() => null);
    const end = story?.prompts.find((card) => card.id === view.card.id);
    if (desk.prompts.some((card) => card.id === view.card.id)) {
      view.isLeaving = false;
      return;
    }
    view.update(end ?? { ...view.card, is_open: false, status: "canceled", word: "no longer waiting" });
  }
  announce(`${nameOf(view.card.session)}: ${view.card.word}`);
  setTimeout(() => leave(view), LINGER_MS);
}

function leave(view) {
  const next = view.element.nextElementSibling ?? view.element.previousElementSibling;
  const hadFocus = view.element.contains(document.activeElement);
  view.element.remove();
  views.delete(view.card.id);
  if (hadFocus) (next ?? document.querySelector("h1"))?.focus({ preventScroll: true });
  moved();
  tellEmpty();
}

list.addEventListener("answered", ({ detail }) => {
  const view = views.get(detail.id);
  if (view && !desk.prompts.some((card) => card.id === detail.id)) learnEnd(view);
});

function tellEmpty() {
  empty.hidden = views.size > 0;
  const running = desk.sessions.filter((session) => session.status === "active").length;
  fill(empty, h("img", { src: "/assets/icon.svg", alt: "", width: "44", height: "44" }), h("p", null, h("strong", null, "Nothing waits for you.")),
    running ? h("p", null, "What ", h("a", { href: "#/sessions" }, running === 1 ? "the running session asks" : `${running} running sessions ask`), " appears here by itself.")
      : h("p", null, "Start a tool with ", h("code", null, "atlasbridge run claude"), "; what it asks appears here."));
}

export function inbox(root, { prompt }) {
  root.append(h("h1", { tabindex: "-1" }, "Inbox"), list, empty);
  arrange();
  if (prompt) views.get(prompt)?.element.focus();
  desk.addEventListener("change", arrange);
  document.addEventListener("keydown", onKey);
  return () => {
    desk.removeEventListener("change", arrange);
    document.removeEventListener("keydown", onKey);
  };
}

/** A single key selects or points, it never sends: that takes Enter, on an answer that has the focus. */
function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const card = document.activeElement?.closest?.(".card");
  if (event.key === "Escape" && card) return document.activeElement === card ? card.blur() : card.focus();
  if (event.target.matches?.("input, select, textarea")) return;
  if (event.key === "j" || event.key === "k") select(card, event.key === "j" ? 1 : -1);
  else if (card && /^[1-9]$/.test(event.key)) card.querySelectorAll(".answer")[numbered(card, event.key)]?.focus({ focusVisible: true });
  else if (card && event.key === "t") card.querySelector(".answers input")?.focus();
  else return;
  event.preventDefault();
}

/** Where the answer with this number stands: refusing ones are drawn last, and keep their number. */
function numbered(card, key) {
  return [...card.querySelectorAll(".answer")].findIndex((button) => button.querySelector("kbd")?.textContent === key && !button.disabled);
}

function select(card, step) {
  const cards = [...list.children];
  const at = card ? cards.indexOf(card) + step : step > 0 ? 0 : cards.length - 1;
  const next = cards[Math.max(0, Math.min(cards.length - 1, at))];
  next?.focus({ preventScroll: true, focusVisible: true });
  next?.scrollIntoView({ block: "nearest" });
}
