// What waits and what runs, as the hub said last; and telling it when something new arrives.

import {nameOf} from "./card.js";
import {announce} from "./dom.js";
import {alertOf} from "./settings.js";
import {line} from "./wire.js";

/** Hears `change` after each word of the hub. */
export const desk = Object.assign(new EventTarget(), {me: null, prompts: [], sessions: [], view: ""});

/** Prompts that this page has shown, so that a reconnect does not announce them again. `null`: the hub has told none yet. */
let known = null;

line.addEventListener("prompts", ({detail}) => {
	desk.prompts = detail;
	const open = detail.filter((card) => card.is_open);
	if (known) open.filter((card) => !known.has(card.id)).forEach(arrive);
	known = new Set([...known ?? [], ...open.map((card) => card.id)]);
	count();
	desk.dispatchEvent(new Event("change"));
});

line.addEventListener("sessions", ({detail}) => {
	desk.sessions = detail;
	desk.dispatchEvent(new Event("change"));
});

function arrive({id, session, excerpt, wants}) {
	const title = `${nameOf(session)} ${wants}`;
	announce(`${title}. ${excerpt}`);
	alertOf(title, excerpt, id, () => {location.hash = `#/?prompt=${id}`;});
}

/** How many wait: in the title, in the navigation, and as a dot on the icon. */
export function count() {
	const waiting = desk.prompts.filter((card) => card.is_open).length;
	document.title = `${waiting ? `(${waiting}) ` : ""}${desk.view && `${desk.view} · `}AtlasBridge`;
	const badge = document.getElementById("count");
	badge.hidden = !waiting;
	badge.textContent = waiting;
	document.getElementById("icon").href = `/assets/icon${waiting ? "-waiting" : ""}.svg`;
}
