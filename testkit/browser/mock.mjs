// A hub that is none: the HTTP API of the page over made-up sessions, for working on the page without a build.
// It serves crates/web/ui as the hub does, with the same headers. What it answers is no proof of what the hub does.
//
//   node testkit/browser/mock.mjs [PORT]     prints a one-time link; Enter makes another

import { createHash, randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";

const UI = new URL("../../crates/web/ui/", import.meta.url);
const TYPES = { html: "text/html; charset=utf-8", js: "text/javascript; charset=utf-8", css: "text/css; charset=utf-8", svg: "image/svg+xml" };
const CSP = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const hex = (bytes) => randomBytes(bytes).toString("hex");
const uuid = () => hex(16).replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, "$1-$2-4$3-a$4-$5").slice(0, 36);

export class Mock {
  constructor() {
    this.links = new Set();
    this.logins = new Map();
    this.sessions = [];
    this.prompts = [];
    this.audit = [];
    this.streams = new Set();
    this.sockets = new Set();
    this.typed = [];
    this.isWhole = true;
  }

  async listen(port = 0) {
    this.server = createServer((request, response) => this.serve(request, response).catch((problem) => { response.writeHead(500).end(String(problem)); }));
    this.server.on("upgrade", (request, socket) => this.upgrade(request, socket));
    await new Promise((done) => this.server.listen(port, "127.0.0.1", done));
    this.port = this.server.address().port;
    this.base = `http://127.0.0.1:${this.port}`;
  }

  async close() {
    for (const stream of this.streams) stream.destroy();
    for (const { socket } of this.sockets) socket.destroy();
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
  }

  /** Away and back at the same port, as a hub that was killed. Cookies stay valid. */
  async restart(meanwhile = async () => {}) {
    await this.close();
    await meanwhile();
    await this.listen(this.port);
  }

  link() {
    const secret = hex(32);
    this.links.add(secret);
    return `${this.base}/open#${secret}`;
  }

  session(fields = {}) {
    const session = { id: uuid(), tool: "claude", label: null, cwd: "/home/dev/projects/api", command: ["claude"], status: "active", started_at: new Date().toISOString(), ended_at: null, exit_code: null, prompts: 0, is_waiting: false, is_connected: true, instructions: null, ...fields };
    this.sessions.unshift(session);
    this.record("SESSION_START", { session: session.id });
    this.changed();
    return session;
  }

  /** A prompt of `session`, as its kind usually looks. */
  ask(session, fields = {}) {
    const id = uuid();
    const kind = fields.kind ?? "multiple_choice";
    const card = {
      id, code: id.slice(0, 8), session: { id: session.id, tool: session.tool, label: session.label, cwd: session.cwd }, nonce: hex(16), kind, confidence: "high", excerpt: "Do you want to proceed?",
      detail: "", choices: [], max_length: 200, asked_at: new Date().toISOString(), expires_at: new Date(Date.now() + 600e3).toISOString(), seconds_left: 600, silence: null,
      status: "awaiting_reply", reason: null, word: "waiting", is_open: true, answered: null, takes: { text: false, reason: false, lines: false }, ...fields,
    };
    card.until = card.seconds_left === null ? null : Date.now() + card.seconds_left * 1000;
    this.prompts.push(card);
    session.prompts += 1;
    this.record("PROMPT_DETECTED", { session: session.id, prompt: id });
    this.changed();
    return card;
  }

  end(card, word, fields = {}) {
    const status = { applied: "resolved", "answered at the terminal": "resolved", canceled: "canceled", "prompt changed": "failed", unknown: "failed", expired: "expired" }[word] ?? "resolved";
    Object.assign(card, { status, word, is_open: false }, fields);
    this.record("PROMPT_RESOLVED", { session: card.session.id, prompt: card.id, value: card.answered?.value ?? null, source: card.answered ? "web" : null, decided_by: card.answered?.by ?? null });
    this.changed();
  }

  record(event, fields) {
    this.audit.push({ seq: this.audit.length + 1, at: new Date().toISOString(), event, session: null, prompt: null, value: null, source: null, decided_by: null, ...fields });
  }

  view(card) {
    const { until, ...rest } = card;
    const [tone, meaning] = ENDS[card.word] ?? ["busy", null];
    const wants = (card.confidence === "low" ? "possible prompt: " : "") + WANTS[card.kind];
    return { ...rest, wants, tone, meaning, seconds_left: until === null ? null : Math.max(0, Math.round((until - Date.now()) / 1000)) };
  }

  inbox() {
    return this.prompts.filter((card) => !["resolved", "canceled", "failed"].includes(card.status)).map((card) => this.view(card));
  }

  changed() {
    for (const session of this.sessions) session.is_waiting = this.prompts.some((card) => card.is_open && card.session.id === session.id);
    for (const stream of this.streams) this.tell(stream);
  }

  tell(stream) {
    const sessions = this.sessions.filter((session) => session.status === "active");
    stream.write(`event: prompts\ndata: ${JSON.stringify({ prompts: this.inbox() })}\n\nevent: sessions\ndata: ${JSON.stringify({ sessions })}\n\n`);
  }

  visitor(request) {
    return this.logins.get(/(?:^|;\s*)atlasbridge=([0-9a-f]+)/.exec(request.headers.cookie ?? "")?.[1]);
  }

  async serve(request, response) {
    const url = new URL(request.url, this.base);
    const path = url.pathname;
    const json = (status, body, headers = {}) => response.writeHead(status, { "content-type": "application/json", "cache-control": "no-store", ...headers }).end(body === null ? undefined : JSON.stringify(body));
    const file = path === "/" || path === "/open" ? "index.html" : /^\/assets\/([a-z-]+\.[a-z]+)$/.exec(path)?.[1];
    if (file) {
      const bytes = await readFile(new URL(file, UI)).catch(() => null);
      if (!bytes) return json(404, { error: "no such file" });
      return response.writeHead(200, { "content-type": TYPES[file.split(".")[1]], "content-security-policy": CSP, "x-content-type-options": "nosniff", "referrer-policy": "no-referrer" }).end(bytes);
    }
    let body = {};
    if (request.method === "POST") {
      if (request.headers["content-type"] !== "application/json") return json(415, { error: "not JSON" });
      const chunks = [];
      for await (const chunk of request) chunks.push(chunk);
      body = JSON.parse(Buffer.concat(chunks));
    }
    const does = `${request.method} ${path}`;
    if (does === "POST /api/login") {
      if (!this.links.delete(body.secret)) return json(403, { error: "this link was used, or is too old" });
      const cookie = hex(16);
      this.logins.set(cookie, `web:${cookie.slice(0, 4)}`);
      return json(204, null, { "set-cookie": `atlasbridge=${cookie}; HttpOnly; SameSite=Strict; Path=/` });
    }
    const visitor = this.visitor(request);
    if (!visitor) return json(401, { error: "not signed in" });
    return this.answer(does, path, url.searchParams, body, visitor, request, response, json);
  }

  async answer(does, path, query, body, visitor, request, response, json) {
    const [, id, part] = /^\/api\/(?:sessions|prompts)\/([^/]+)(?:\/([a-z_]+))?$/.exec(path) ?? [];
    const session = this.sessions.find((session) => session.id === id);
    if (does === "GET /api/me") return json(200, { visitor, version: "0.0.0-mock" });
    if (does === "POST /api/logout") {
      for (const [cookie, name] of this.logins) if (name === visitor) this.logins.delete(cookie);
      return json(204, null);
    }
    if (does === "GET /api/events") {
      response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
      this.streams.add(response);
      request.on("close", () => this.streams.delete(response));
      return this.tell(response);
    }
    if (does === "GET /api/prompts") return json(200, { prompts: this.inbox() });
    if (does === "GET /api/sessions") return json(200, { sessions: this.sessions.filter((session) => query.get("all") || session.status === "active") });
    if (does === "GET /api/history") {
      const found = this.prompts.toReversed().filter((card) => (!query.get("q") || `${card.excerpt} ${card.detail}`.toLowerCase().includes(query.get("q").toLowerCase())) && (!query.get("session") || card.session.id === query.get("session")));
      return json(200, { prompts: found.map((card) => this.view(card)), next: null });
    }
    if (does === "GET /api/audit") {
      const most = Number(query.get("most") ?? 50);
      const found = this.audit.toReversed().filter((line) => line.seq < Number(query.get("before") ?? Infinity) && (!query.get("session") || line.session === query.get("session")) && (!query.get("q") || JSON.stringify(line).toLowerCase().includes(query.get("q").toLowerCase())));
      return json(200, { lines: found.slice(0, most), next: found.length > most ? found[most - 1].seq : null });
    }
    if (does === "GET /api/audit/verify") return json(200, { is_whole: this.isWhole, records: this.audit.length, told: this.isWhole ? `All ${this.audit.length} records follow from one another.` : "Line 7 does not follow from line 6." });
    if (does === "GET /api/export") return json(200, { prompts: this.prompts }, { "content-disposition": "attachment; filename=atlasbridge.json" });
    if (does === `POST /api/prompts/${id}/answer`) return this.decide(id, body, visitor, json);
    if (!session) return json(404, { error: "there is no such session" });
    if (does.startsWith("GET") && !part) return json(200, { session, prompts: this.prompts.filter((card) => card.session.id === id).map((card) => this.view(card)) });
    if (does.startsWith("GET") && part === "lines") return json(200, { lines: Array.from({ length: 1000 }, (_, row) => `line ${row + 1} \u202e<b>earlier</b>`) });
    if (does.startsWith("POST") && part === "send") {
      if (body.text.startsWith("!") && !body.as_is) return json(428, { error: `\`${body.text}\` would be run as a shell command by ${session.tool}.` });
      session.instructions = { ...session.instructions, queued: body.text, unsent: null };
      this.typed.push({ session: id, ...body });
      this.changed();
      return json(200, { prompt: null, queued: `${session.tool} is working; this is sent as its next instruction when it has finished.` });
    }
    if (does.startsWith("POST") && part === "take_back") {
      session.instructions = { ...NO_TEXTS };
      this.changed();
      return json(200, { ok: true });
    }
    if (does.startsWith("POST") && part === "stop") {
      Object.assign(session, { status: "terminated", ended_at: new Date().toISOString(), exit_code: 143 });
      this.changed();
      return json(200, {});
    }
    return json(404, { error: "no such thing" });
  }

  /** Won: first "being typed", then the end, each told as the hub would. */
  async decide(id, { nonce, answer, as_is }, visitor, json) {
    const card = this.prompts.find((card) => card.id === id);
    if (!card) return json(404, { error: "there is no such prompt" });
    if (!card.is_open || card.nonce !== nonce) return json(409, { error: `this prompt is ${card.word}; nothing was typed` });
    if (answer.text?.startsWith("!") && card.kind === "idle" && !as_is) return json(428, { error: `\`${answer.text}\` would be run as a shell command.` });
    const say = { approve: "yes", deny: "no", default: card.silence, enter: "enter" };
    const value = answer.choice !== undefined ? card.choices[answer.choice].label : answer.say ? say[answer.say] : answer.text !== undefined ? `text of ${[...answer.text].length} characters` : card.choices.find((choice) => choice.effect === "refuses").label;
    this.typed.push({ prompt: id, ...answer });
    if (answer.say === "cancel") {
      this.end(card, "canceled", { reason: "left to the terminal" });
      return json(200, { prompt: this.view(card) });
    }
    Object.assign(card, { status: "reply_received", word: "being typed", is_open: false, answered: { value, by: visitor } });
    this.changed();
    await (card.hold ?? new Promise((done) => setTimeout(done, 300)));
    this.end(card, "applied");
    return json(200, { prompt: this.view(card) });
  }

  upgrade(request, socket) {
    const id = /^\/api\/sessions\/([^/]+)\/live$/.exec(request.url)?.[1];
    const session = this.sessions.find((session) => session.id === id);
    if (!this.visitor(request) || !session) return socket.end("HTTP/1.1 401 Unauthorized\r\n\r\n");
    const accept = createHash("sha1").update(`${request.headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`);
    const live = { socket, session, isUnlocked: false, say: (message) => socket.write(frame(JSON.stringify(message))) };
    this.sockets.add(live);
    socket.on("close", () => this.sockets.delete(live));
    socket.on("error", () => {});
    let rest = Buffer.alloc(0);
    socket.on("data", (chunk) => {
      rest = Buffer.concat([rest, chunk]);
      for (let read = unframe(rest); read; read = unframe(rest)) {
        rest = rest.subarray(read.length);
        if (read.opcode === 8) return socket.end();
        if (read.opcode === 1) this.key(live, JSON.parse(read.text));
      }
    });
    live.say({ t: "screen", columns: 80, height: 24, alternate: false, whole: true, cursor: [6, 2], rows: { ...SCREEN, ...session.rows } });
  }

  key(live, message) {
    if (message.t === "unlock") { live.isUnlocked = true; return; }
    if (!live.isUnlocked) return live.say({ t: "typed", ok: false, error: "typing is locked" });
    this.typed.push(message);
    live.say({ t: "typed", ok: true });
    this.paint(live.session, { 8: `typed: ${message.key ?? message.text.replace(/&/g, "&amp;").replace(/</g, "&lt;")}` });
  }

  /** Changed rows, to everybody who watches. */
  paint(session, rows) {
    session.rows = { ...session.rows, ...rows };
    for (const live of this.sockets) if (live.session === session) live.say({ t: "screen", columns: 80, height: 24, alternate: false, whole: false, cursor: [8, 2], rows });
  }
}

const WANTS = {
  yes_no: "asks yes or no", confirm_enter: "waits for Enter", multiple_choice: "asks you to choose", free_text: "asks for a text",
  password: "asks for a password", idle: "has finished and waits for its next instruction", unknown: "seems to wait for something",
};

const ENDS = {
  applied: ["good", "The tool took the answer."], "answered at the terminal": ["calm", "Somebody typed the answer at the keyboard."],
  canceled: ["calm", "Nothing was typed."], "prompt changed": ["bad", "The screen showed something else by then. Nothing was typed."],
  unknown: ["bad", "The session ended before it could say. Look at the terminal."], expired: ["wary", "Nobody answered in time."],
};

/** `null`: the session takes no instructions. */
const NO_TEXTS = { max_length: 4000, lines: true, queued: null, unsent: null };

const SCREEN = {
  0: `<span class="f6 bo">╭──────────────────────────────────────────────────────────────╮</span>`,
  1: `<span class="f6 bo">│</span> <span class="bo">Edit</span> <span class="f4 un">src/server.rs</span>  <span class="f2">+12</span> <span class="f1">−3</span>  <span class="f8">in 0.8 s</span>                        <span class="f6 bo">│</span>`,
  2: `<span class="f6 bo">╰──────────────────────────────────────────────────────────────╯</span>`,
  3: `  <span class="f15 b4"> INFO </span> <span class="f0 b2"> PASS </span> <span class="f0 b3"> SKIP </span> <span data-f="#ffffff" data-b="#7a1f6b"> truecolor </span> <span class="re">reverse</span> <span class="it di">dim italic</span> <span class="st">struck</span>`,
  4: `  <span class="w2">世</span><span class="w2">界</span> two cells each, <span class="f9">red</span> <span class="f10">green</span> <span class="f11">yellow</span> <span class="f12">blue</span> <span class="f13">magenta</span> <span class="f14">cyan</span>`,
  6: `<span class="f5">❯</span> `,
};

function frame(text) {
  const body = Buffer.from(text);
  const head = body.length < 126 ? Buffer.from([0x81, body.length]) : Buffer.from([0x81, 126, body.length >> 8, body.length & 255]);
  return Buffer.concat([head, body]);
}

function unframe(bytes) {
  if (bytes.length < 2) return null;
  let [length, at] = [bytes[1] & 127, 2];
  if (length === 126) { if (bytes.length < 4) return null; length = bytes.readUInt16BE(2); at = 4; }
  if (bytes.length < at + 4 + length) return null;
  const mask = bytes.subarray(at, at + 4);
  const body = Buffer.from(bytes.subarray(at + 4, at + 4 + length)).map((byte, index) => byte ^ mask[index % 4]);
  return { opcode: bytes[0] & 15, text: body.toString(), length: at + 4 + length };
}

/** A desk as it looks on a busy day. */
export function furnish(mock) {
  const minutesAgo = (minutes) => new Date(Date.now() - minutes * 60e3).toISOString();
  const past = mock.session({ tool: "codex", label: null, command: ["codex", "--full-auto"], cwd: "/home/dev/projects/site", started_at: minutesAgo(3000), ended_at: minutesAgo(2950), status: "completed", exit_code: 0 });
  mock.end(mock.ask(past, { kind: "yes_no", excerpt: "Allow command `npm ci`?", asked_at: minutesAgo(2990), choices: [{ label: "Yes", effect: "accepts" }, { label: "No", effect: "refuses" }] }), "answered at the terminal");
  mock.session({ tool: "aider", label: "docs", command: ["aider", "README.md"], started_at: minutesAgo(400), ended_at: minutesAgo(380), status: "crashed", exit_code: 1 });
  const api = mock.session({ label: "api refactor", instructions: { ...NO_TEXTS }, started_at: minutesAgo(64), command: ["claude", "--continue"] });
  mock.end(mock.ask(api, { excerpt: "Do you want to make this edit to server.rs?", detail: " Edit file\n   src/server.rs\n\n Do you want to make this edit to server.rs?", asked_at: minutesAgo(30), choices: [{ label: "Yes", effect: "accepts" }, { label: "No", effect: "refuses" }] }), "applied", { answered: { value: "Yes", by: "telegram:123" } });
  mock.end(mock.ask(api, { kind: "free_text", excerpt: "Commit message:", asked_at: minutesAgo(20) }), "prompt changed", { answered: { value: "text of 24 characters", by: "web:0001" }, reason: "prompt_changed" });
  const gemini = mock.session({ tool: "gemini", label: null, started_at: minutesAgo(12), cwd: "/home/dev/projects/a-rather-long-name-of-a-directory/that-goes/on-and-on", command: ["gemini"] });
  const bash = mock.session({ tool: "bash", label: "release", started_at: minutesAgo(5), command: ["./release.sh"], cwd: "/srv/release" });
  return { api, gemini, bash };
}

export const asks = {
  approval: (mock, session) => mock.ask(session, {
    excerpt: "Do you want to proceed?", silence: "No", takes: { text: false, reason: true },
    detail: " Bash command\n\n   cargo test -p api --features integration -- --nocapture 2>&1 | tail -n 50\n   Run the integration tests\n\n Do you want to proceed?\n ❯ 1. Yes\n   2. Yes, and don't ask again for cargo test commands in /home/dev/projects/api\n   3. No, and tell Claude what to do differently (esc)",
    choices: [{ label: "Yes", effect: "accepts" }, { label: "Yes, and don't ask again for cargo test commands in /home/dev/projects/api", effect: "accepts" }, { label: "No", effect: "refuses" }],
  }),
  yes_no: (mock, session) => mock.ask(session, { kind: "yes_no", excerpt: "Publish version 2.4.0 to the registry? [y/N]", silence: "no", seconds_left: 48, choices: [{ label: "yes", effect: "accepts" }, { label: "no", effect: "refuses" }] }),
  text: (mock, session) => mock.ask(session, { kind: "free_text", excerpt: "Commit message:", silence: "Enter", max_length: 72, takes: { text: true, reason: false } }),
  password: (mock, session) => mock.ask(session, { kind: "password", excerpt: "[sudo] password for dev:" }),
  possible: (mock, session) => mock.ask(session, { kind: "unknown", confidence: "low", excerpt: "Waiting for something…", detail: "Resolving 214 packages\nWaiting for something…", takes: { text: true, reason: false } }),
  idle: (mock, session) => mock.ask(session, { kind: "idle", excerpt: "│ > │", expires_at: null, seconds_left: null, max_length: 4000, takes: { text: true, reason: false, lines: true } }),
  own: (mock, session) => mock.ask(session, {
    excerpt: "Which checks should run?", takes: { text: true, reason: true, reason_at_once: true, several: true, lines: false, by_hook: true },
    choices: [{ label: "Unit tests", effect: "other" }, { label: "Lint", effect: "other" }, { label: "None of them", effect: "refuses" }],
  }),
  hostile: (mock, session) => mock.ask(session, { kind: "yes_no", excerpt: "<img src=x onerror=alert(1)> rm -rf \u202e/ efas\u202c?", detail: "<script>document.title='owned'</script>\n<img src=x onerror=\"document.title='owned'\">\nzero\u200bwidth \u202eright to left\u202c \u0007bell \u001b[31m", choices: [{ label: "<b>Yes</b>\u202e", effect: "accepts" }, { label: "No", effect: "refuses" }] }),
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const mock = new Mock();
  await mock.listen(Number(process.argv[2] ?? 8790));
  const { api, gemini, bash } = furnish(mock);
  asks.approval(mock, api);
  asks.text(mock, gemini);
  asks.yes_no(mock, bash);
  console.log(mock.link());
  process.stdin.on("data", () => console.log(mock.link()));
}
