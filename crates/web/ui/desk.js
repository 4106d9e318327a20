// What waits and what runs, as the hub said last; and telling it when something new arrives.

import { announce } from "./dom.js";
import { kindOf, nameOf } from "./card.js";
import { alertOf } from "./settings.js";
import { line } from "./wire.js";

/** Hears `change` after each word of the hub. */
export const desk = Object.assign(new EventTarget(), { me: null, prompts: [], sessions: [], view: "" });

/** Prompts that were seen on this page, so that a reconnect does not announce them again. `null`: none were told yet. */
let known = null;

line.addEventListener("prompts", ({ detail }) => {
  desk.prompts = detail;
  if (known) for (const card of detail.filter((card) => card.is_open && !known.has(card.id))) arrive(card);
  known = new Set([...(known ?? []), ...detail.filter((card) => card.is_open).map((card) => card.id)]);
  count();
  desk.dispatchEvent(new Event("change"));
});

line.addEventListener("sessions", ({ detail }) => {
  desk.sessions = detail;
  desk.dispatchEvent(new Event("change"));
});

function arrive(card) {
  const title = `${nameOf(card.session)} ${kindOf(card)}`;
  announce(`${title}. ${card.excerpt}`);
  alertOf(title, card.excerpt, card.id, () => { location.hash = `#/?prompt=${card.id}`; });
}

/** How many wait: in the title, in the navigation, and as a dot on the icon. */
export function count() {
  const waiting = desk.prompts.filter((card) => card.is_open).length;
  document.title = `${waiting ? `(${waiting}) ` : ""}${desk.view ? `${desk.view} · ` : ""}AtlasBridge`;
  const badge = document.getElementById("count");
  badge.hidden = !waiting;
  badge.textContent = waiting;
  badge.setAttribute("aria-label", `${waiting} waiting`);
  const icon = waiting ? "/assets/icon-waiting.svg" : "/assets/icon.svg";
  const link = document.getElementById("icon");
  if (link.getAttribute("href") !== icon) link.setAttribute("href", icon);
}
