// Talking to the hub: requests, the stream of events, the live screen's socket. All of it reconnects by itself.

/** The hub said no, in a sentence for a person; `status` is 0 where it could not be reached. */
export class Refused extends Error {
  constructor(status, sentence) {
    super(sentence);
    this.status = status;
  }
}

/** Hears `signed-out` (the login is unknown), `connection` (up or not) and the events `prompts` and `sessions`. */
export const line = new EventTarget();
const tell = (name, detail) => line.dispatchEvent(new CustomEvent(name, { detail }));

/** No answer for this long is no answer. The hub waits a bounded time for a prompt's end, well below it. */
const REQUEST_MS = 20_000;

async function ask(method, path, body) {
  const request = { method, signal: AbortSignal.timeout(REQUEST_MS), cache: "no-store" };
  if (method === "POST") {
    request.headers = { "content-type": "application/json" };
    request.body = JSON.stringify(body ?? {});
  }
  let response;
  try {
    response = await fetch(path, request);
  } catch {
    throw new Refused(0, "The hub cannot be reached just now. Nothing is known to have happened; look again once it is back.");
  }
  if (response.status === 401 && path !== "/api/login") tell("signed-out");
  const told = response.status === 204 ? {} : await response.json().catch(() => ({}));
  if (!response.ok) throw new Refused(response.status, told.error ?? `The hub refused (${response.status}).`);
  return told;
}

export const get = (path) => ask("GET", path);
export const post = (path, body) => ask("POST", path, body);

/** Tries again after 0.5, 1, 2 … 15 seconds, a little uneven, so that many tabs do not come at once. */
class Patience {
  constructor(again) {
    this.again = again;
    this.tries = 0;
  }
  wait() {
    const ms = Math.min(15_000, 500 * 2 ** this.tries++) * (0.8 + Math.random() * 0.4);
    this.stop();
    this.timer = setTimeout(() => this.again(), ms);
    return ms;
  }
  stop() {
    clearTimeout(this.timer);
  }
  reset() {
    this.tries = 0;
    this.stop();
  }
}

const patience = new Patience(listen);
let events = null;
let isUp = false;

/** Opens the stream of events, again if there is one. */
export function listen() {
  hangUp();
  events = new EventSource("/api/events");
  for (const name of ["prompts", "sessions"]) {
    events.addEventListener(name, (event) => {
      isUp = true;
      patience.reset();
      tell("connection", { isUp });
      tell(name, JSON.parse(event.data)[name]);
    });
  }
  // The browser's own retry neither grows nor tells why: a refused login must not look like a sleeping hub.
  events.onerror = async () => {
    hangUp();
    const isRefused = await get("/api/me").then(() => false, (refusal) => refusal.status === 401);
    if (isRefused || events) return;
    tell("connection", { isUp, again: Date.now() + patience.wait() });
  };
}

export function hangUp() {
  patience.stop();
  events?.close();
  events = null;
  isUp = false;
}

/** The live screen of one session. `told` gets each message, `state` hears "open" and "closed". */
export class Live {
  constructor(session, told, state) {
    Object.assign(this, { session, told, state });
    this.patience = new Patience(() => this.open());
    this.open();
  }
  open() {
    this.patience.stop();
    this.drop();
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(`${scheme}//${location.host}/api/sessions/${this.session}/live`);
    this.socket = socket;
    socket.onmessage = (event) => {
      if (socket !== this.socket) return;
      this.patience.reset();
      this.told(JSON.parse(event.data));
    };
    socket.onopen = () => socket === this.socket && this.state("open");
    socket.onclose = () => {
      if (socket !== this.socket) return;
      this.socket = null;
      this.state("closed");
      this.patience.wait();
    };
  }
  say(message) {
    if (this.socket?.readyState !== WebSocket.OPEN) return false;
    this.socket.send(JSON.stringify(message));
    return true;
  }
  drop() {
    const old = this.socket;
    this.socket = null;
    old?.close();
  }
  end() {
    this.patience.reset();
    this.drop();
  }
}

/** Hidden for longer than this, a machine may have slept: its connections look alive and are not. */
const NAP_MS = 10_000;
let hiddenAt = null;

/** Calls `wake` when the machine or the network came back. */
export function onWake(wake) {
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) hiddenAt = Date.now();
    else if (!isUp || (hiddenAt && Date.now() - hiddenAt > NAP_MS)) wake();
  });
  addEventListener("online", wake);
  addEventListener("pageshow", (event) => event.persisted && wake());
}
