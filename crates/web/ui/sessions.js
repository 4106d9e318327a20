// Sessions: all of them in a list, and one of them with its live screen and its prompts.

import { CardView, isOver, nameOf } from "./card.js";
import { desk } from "./desk.js";
import { confirmed, duration, fill, h, moment, quoted, secondsBetween, ticking, visible } from "./dom.js";
import { pastPrompt } from "./past.js";
import { Screen } from "./screen.js";
import { get, post } from "./wire.js";

/** Asks the hub at most this often, however much changes. */
const PACE_MS = 1000;

/** Calls `look` now and after changes; a change while it looks, or too soon after, is one more look later. */
function following(look) {
  let timer = null;
  let isWanted = false;
  const again = async () => {
    if (timer) { isWanted = true; return; }
    timer = setTimeout(() => { timer = null; if (isWanted) { isWanted = false; again(); } }, PACE_MS);
    await look();
  };
  desk.addEventListener("change", again);
  again();
  return () => { desk.removeEventListener("change", again); clearTimeout(timer); timer = true; };
}

const statusOf = (session) => {
  if (session.status !== "active") return [session.status === "completed" ? "calm" : "bad", session.status + (session.exit_code === null ? "" : ` · exit ${session.exit_code}`)];
  if (!session.is_connected) return ["wary", "running, not connected"];
  return session.is_waiting ? ["wary", "waiting for you"] : ["good", "running"];
};

const tag = (session) => h(`span.tag.${statusOf(session)[0]}`, null, statusOf(session)[1]);
const lasted = (session) => ticking(h("span"), () => duration(secondsBetween(session.started_at, session.ended_at)));
const prompts = (session) => `${session.prompts} prompt${session.prompts === 1 ? "" : "s"}`;

async function stop(session, problem) {
  const name = nameOf(session);
  const isSure = await confirmed(`Stop ${name}?`, [quoted(session.command.join(" "), "code"), " is asked to end; after three seconds it is ended. What it has not saved is lost."], "Stop it");
  if (!isSure) return;
  await post(`/api/sessions/${session.id}/stop`).catch((refusal) => { problem.hidden = false; problem.textContent = refusal.message; });
}

function stopButton(session, problem) {
  return h("button.refuse.small", { type: "button", "aria-label": `Stop ${nameOf(session)}`, onclick: () => stop(session, problem) }, "Stop…");
}

function item(session, problem) {
  return h("li.session", { "data-session": session.id },
    h("div.name", null, h("a", { href: `#/session/${session.id}` }, quoted(nameOf(session))), tag(session)),
    h("div.about", null, h("code", null, visible(session.command.join(" "))), h("span.dim", null, "in ", quoted(session.cwd, "code"))),
    h("div.figures", null, moment(session.started_at), h("span", null, lasted(session)), h("span", null, prompts(session))),
    session.status === "active" ? stopButton(session, problem) : null);
}

export function sessions(root) {
  const problem = h("p.problem", { role: "alert", hidden: true });
  const running = h("ul.plain");
  const past = h("ul.plain");
  const none = (text) => h("li.dim", null, text);
  root.append(h("h1", { tabindex: "-1" }, "Sessions"), problem, h("h2", null, "Running"), running, h("h2", null, "Past"), past);
  return following(async () => {
    const told = await get("/api/sessions?all=1").catch(() => null);
    if (!told) return;
    const items = (isRunning) => told.sessions.filter((session) => (session.status === "active") === isRunning).map((session) => item(session, problem));
    const [now, then] = [items(true), items(false)];
    redraw(running, now.length ? now : none(["None. Start one with ", h("code", null, "atlasbridge run claude"), "."]));
    redraw(past, then.length ? then : none("None yet."));
  });
}

/** Draws anew and keeps the focus where it was: on the same control of the same session. */
function redraw(list, items) {
  const focused = list.contains(document.activeElement) ? document.activeElement : null;
  const at = focused && [focused.closest("[data-session]")?.dataset.session, focused.localName];
  fill(list, items);
  if (at?.[0]) list.querySelector(`[data-session="${CSS.escape(at[0])}"] ${at[1]}`)?.focus({ preventScroll: true });
}

export function session(root, { id }) {
  const problem = h("p.problem", { role: "alert", hidden: true });
  const heading = h("h1", { tabindex: "-1" }, "Session");
  const about = h("div.about");
  const cards = h("div.cards");
  const past = h("ol.plain");
  const views = new Map();
  let screen = null;
  const side = h("section.timeline", { "aria-label": "Prompts of this session" }, cards, h("h2", null, "Its prompts"), past);
  const stage = h("div.stage", null, side);
  root.append(h("p.back", null, h("a", { href: "#/sessions" }, "← Sessions")), heading, about, problem, stage);
  root.classList.add("wide");

  const unfollow = following(async () => {
    const story = await get(`/api/sessions/${encodeURIComponent(id)}`).catch((refusal) => refusal);
    if (story instanceof Error) {
      if (story.status === 404) fill(about, h("p", null, "There is no such session."));
      return;
    }
    tell(story);
  });

  function tell({ session, prompts: all }) {
    fill(heading, quoted(nameOf(session)), " ", tag(session));
    fill(about, h("code", null, visible(session.command.join(" "))), h("span.dim", null, "in ", quoted(session.cwd, "code")),
      h("span.dim", null, "since ", moment(session.started_at), " · ", lasted(session), " · ", prompts(session)),
      session.status === "active" ? stopButton(session, problem) : null);
    if (!screen && session.status === "active") {
      screen = new Screen(session.id);
      stage.prepend(screen.element);
    } else if (screen && session.status === "active" && session.is_connected) screen.revive();
    const newest = [...all].sort((one, other) => (one.asked_at < other.asked_at ? 1 : -1));
    const isShown = (card) => !isOver(card) || views.has(card.id);
    for (const card of newest.filter(isShown)) show(card);
    const over = newest.filter((card) => isOver(card));
    const open = new Set([...past.querySelectorAll("details[open]")].map((details) => details.parentElement.dataset.prompt));
    fill(past, over.length ? over.map((card) => pastPrompt(card, desk.me, { isNamed: false })) : h("li.dim", null, "None has ended yet."));
    for (const entry of past.children) if (open.has(entry.dataset.prompt)) entry.firstChild.open = true;
  }

  function show(card) {
    const view = views.get(card.id);
    if (!view) {
      const made = new CardView(card, desk.me, { isLinked: false });
      views.set(card.id, made);
      cards.prepend(made.element);
    } else if (!view.isSending) view.update(card);
  }

  return () => {
    unfollow();
    screen?.end();
    root.classList.remove("wide");
  };
}
