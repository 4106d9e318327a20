// What is on record: past prompts, and the audit log with its verdict.

import { desk } from "./desk.js";
import { fill, h, moment, quoted, visible } from "./dom.js";
import { pastPrompt } from "./past.js";
import { get } from "./wire.js";

const PAGE = 50;
/** With a filter that the hub does not know, at most this many pages are read for one press. */
const PAGES = 6;

const query = (words) => new URLSearchParams(Object.entries(words).filter(([, value]) => value !== "" && value !== null && value !== undefined));

/** A search line with its filters, and pages of what it finds. */
function searching(root, { path, key, filters, draw, session }) {
  const list = h("ol.plain");
  const status = h("p.dim", { role: "status" });
  const more = h("button", { type: "button", hidden: true, onclick: () => read() }, "Show more");
  const text = h("input", { type: "search", "aria-label": "Search", placeholder: "Search" });
  const place = h("select", { "aria-label": "Session" });
  const sifts = filters.map(({ label }) => h("select", { "aria-label": label }));
  let found = [];
  let next = null;
  let turn = 0;
  let timer;

  const fits = (entry) => filters.every(({ of }, number) => !sifts[number].value || of(entry) === sifts[number].value);

  async function read(isNew) {
    const mine = ++turn;
    if (isNew) { found = []; next = null; }
    status.textContent = "Looking…";
    for (let page = 0; page < PAGES; page++) {
      const told = await get(`${path}?${query({ q: text.value, session: place.value, before: next, most: PAGE })}`).catch((refusal) => refusal);
      if (mine !== turn) return;
      if (told instanceof Error) { status.textContent = told.message; return; }
      found.push(...told[key]);
      next = told.next;
      if (next === null || found.filter(fits).length >= (page + 1) * 10) break;
    }
    show();
  }

  function show() {
    const shown = found.filter(fits);
    fill(list, shown.map(draw));
    more.hidden = next === null;
    status.textContent = shown.length ? `${shown.length} shown${next === null ? "" : ", there are older ones"}` : `Nothing found${next === null ? "" : " yet, there are older ones"}.`;
    filters.forEach(({ label, of }, number) => offer(sifts[number], label, [...new Set(found.map(of))].filter(Boolean).sort().map((value) => [value, value])));
  }

  function offer(select, label, options) {
    const chosen = select.value;
    if (chosen && !options.some(([value]) => value === chosen)) options.push([chosen, chosen]);
    fill(select, h("option", { value: "" }, label), options.map(([value, face]) => h("option", { value, selected: value === chosen }, face)));
  }

  async function offerSessions() {
    const told = await get("/api/sessions?all=1").catch(() => ({ sessions: [] }));
    offer(place, "Any session", told.sessions.map((entry) => [entry.id, `${entry.label || entry.tool} · ${new Date(entry.started_at).toLocaleString()}`]));
    if (session) place.value = session;
  }

  text.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(() => read(true), 250); });
  place.addEventListener("change", () => read(true));
  for (const sift of sifts) sift.addEventListener("change", () => (next === null ? show() : read()));
  root.append(h("div.search", { role: "search" }, text, place, sifts), status, list, more);
  filters.forEach(({ label }, number) => offer(sifts[number], label, []));
  offer(place, "Any session", []);
  offerSessions().then(() => read(true));
  return () => { turn++; clearTimeout(timer); };
}

export function history(root, { session }) {
  root.append(h("div.row.head", null, h("h1", { tabindex: "-1" }, "History"), h("a.button", { href: "/api/export", download: "" }, "Export JSON")));
  return searching(root, {
    path: "/api/history", key: "prompts", session,
    filters: [{ label: "Any outcome", of: (card) => card.word }, { label: "Anybody", of: (card) => card.answered?.by }],
    draw: (card) => pastPrompt(card, desk.me),
  });
}

export function audit(root, { session }) {
  const verdict = h("div.verdict", { role: "status" });
  const verify = async () => {
    fill(verdict, h("p", null, "Checking the whole chain…"));
    const told = await get("/api/audit/verify").catch((refusal) => ({ told: refusal.message, isUnknown: true }));
    const word = told.isUnknown ? "Not checked" : told.is_whole ? "Whole" : "Broken";
    verdict.className = `verdict ${told.isUnknown ? "wary" : told.is_whole ? "good" : "bad"}`;
    fill(verdict, h("p", null, h("strong", null, word), " ", visible(told.told)), h("button.quiet", { type: "button", onclick: verify }, "Check again"));
  };
  root.append(h("h1", { tabindex: "-1" }, "Audit"), verdict);
  verify();
  const short = (id) => h("code", { title: id }, id.slice(0, 8));
  return searching(root, {
    path: "/api/audit", key: "lines", session,
    filters: [{ label: "Any event", of: (line) => line.event }, { label: "Any source", of: (line) => line.source }],
    draw: (line) => h("li.record", null, h("span.seq", null, `#${line.seq}`), moment(line.at), h("b", null, line.event.toLowerCase().replaceAll("_", " ")),
      h("span.facts", null, line.value ? quoted(line.value) : null, line.source ? h("span.dim", null, "from ", quoted(line.source)) : null,
        line.decided_by ? h("span.dim", null, "by ", quoted(line.decided_by)) : null,
        line.session ? h("a", { href: `#/session/${line.session}` }, "session ", short(line.session)) : null,
        line.prompt ? h("span.dim", null, "prompt ", short(line.prompt)) : null)),
  });
}
