// What is on record: past prompts, and the audit log with its verdict.

import {pastPrompt} from "./card.js";
import {desk} from "./desk.js";
import {fill, h, moment, quoted, visible} from "./dom.js";
import {get} from "./wire.js";

const PAGE = 50;
/** Filters that the hub does not know are applied here: at most this many pages are read at once until something fits. */
const PAGES = 6;

/** A search line with filters, and pages of what it finds. */
function searching(root, {path, key, filters, draw, session}) {
	const list = h("ol");
	const status = h("p.dim", {role: "status"});
	const more = h("button", {hidden: true, onclick: () => read()}, "Show more");
	const text = h("input", {type: "search", "aria-label": "Search", placeholder: "Search"});
	const place = h("select", {"aria-label": "Session"});
	const sifts = filters.map(([label, of]) => Object.assign(h("select", {"aria-label": label, onchange: () => (next === null ? show() : read())}), {of}));
	const fits = (entry) => sifts.every(({value, of}) => !value || of(entry) === value);
	let [found, next, turn, timer] = [[], null, 0];

	async function read() {
		const mine = ++turn;
		status.textContent = "Looking…";
		for (let page = 1; page <= PAGES; page++) {
			const words = {q: text.value, session: place.value, before: next, most: PAGE};
			const told = await get(`${path}?${new URLSearchParams(Object.entries(words).filter(([, word]) => word))}`).catch((refusal) => refusal);
			if (mine !== turn) return;
			if (told instanceof Error) {
				status.textContent = told.message;
				return;
			}
			found.push(...told[key]);
			next = told.next;
			if (next === null || found.slice(-PAGE).some(fits)) break;
		}
		show();
	}

	function anew() {
		[found, next] = [[], null];
		read();
	}

	function show() {
		const shown = found.filter(fits);
		fill(list, shown.map(draw));
		more.hidden = next === null;
		status.textContent = `${shown.length || "Nothing"} found${next === null ? "." : " so far; there are older ones."}`;
		sifts.forEach((sift, at) => offer(sift, filters[at][0], [...new Set(found.map(sift.of))].filter(Boolean).sort().map((value) => [value, value])));
	}

	function offer(select, any, options) {
		const {value: chosen} = select;
		fill(select, [["", any], ...options].map(([value, face]) => h("option", {value, selected: value === chosen}, face)));
	}

	text.addEventListener("input", () => {
		clearTimeout(timer);
		timer = setTimeout(anew, 250);
	});
	place.addEventListener("change", anew);
	root.append(h("div.search", {role: "search"}, text, place, sifts), status, list, more);
	get("/api/sessions?all=1").catch(() => ({sessions: []})).then(({sessions}) => {
		offer(place, "Any session", sessions.map((entry) => [entry.id, `${entry.label || entry.tool} · ${new Date(entry.started_at).toLocaleString()}`]));
		place.value = session ?? "";
		show();
		read();
	});
	return () => {turn = -1;};
}

export function history(root, {session}) {
	root.append(h("div.row", h("h1", {tabindex: -1}, "History"), h("a.button", {href: "/api/export", download: ""}, "Export JSON")));
	return searching(root, {
		path: "/api/history", key: "prompts", session, draw: (card) => pastPrompt(card, desk.me),
		filters: [["Any outcome", (card) => card.word], ["Anybody", (card) => card.answered?.by]],
	});
}

export function audit(root, {session}) {
	const verdict = h("div", {role: "status"});
	const show = (tone, word, told) => {
		verdict.className = `row verdict ${tone}`;
		fill(verdict, h("p", h("strong", word), " ", visible(told)), h("button.quiet", {onclick: verify}, "Check again"));
	};
	const verify = () => {
		show("calm", "Checking", "the whole chain…");
		get("/api/audit/verify").then(({is_whole, told}) => show(...is_whole ? ["good", "Whole."] : ["bad", "Broken."], told), (refusal) => show("wary", "Not checked.", refusal.message));
	};
	root.append(h("h1", {tabindex: -1}, "Audit"), verdict);
	verify();
	const short = (id) => h("code", {title: id}, id.slice(0, 8));
	return searching(root, {
		path: "/api/audit", key: "lines", session,
		filters: [["Any event", (line) => line.event], ["Any source", (line) => line.source]],
		draw: (line) => h("li.record", h("code", `#${line.seq}`), moment(line.at), h("b", line.event.toLowerCase().replaceAll("_", " ")),
			h("span.about", line.value && quoted(line.value), line.source && h("span.dim", "from ", quoted(line.source)), line.decided_by && h("span.dim", "by ", quoted(line.decided_by)),
				line.session && h("a", {href: `#/session/${line.session}`}, "session ", short(line.session)), line.prompt && h("span.dim", "prompt ", short(line.prompt)))),
	});
}
