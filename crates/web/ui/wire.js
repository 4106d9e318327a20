// Talking to the hub: requests, the stream of events, the live screen's socket. All of it reconnects by itself.

/** The hub said no, in a sentence for a person; `status` is 0 where it could not be reached. */
const refusal = (status, sentence) => Object.assign(new Error(sentence), {status});

/** Hears `signed-out` (the login is unknown), `connection` (up or not), and the hub's events `prompts` and `sessions`. */
export const line = new EventTarget();
const tell = (name, detail) => line.dispatchEvent(new CustomEvent(name, {detail}));

/** No answer for this long is none. The hub waits for a prompt's end well below it. */
const REQUEST_MS = 20_000;

async function ask(path, body) {
	const posted = body && {method: "POST", headers: {"content-type": "application/json"}, body: JSON.stringify(body)};
	const response = await fetch(path, {cache: "no-store", signal: AbortSignal.timeout(REQUEST_MS), ...posted}).catch(() => {
		throw refusal(0, "The hub cannot be reached. What became of this is not known yet.");
	});
	const told = await response.json().catch(() => ({}));
	if (response.status === 401) tell("signed-out");
	if (!response.ok) throw refusal(response.status, told.error ?? `The hub refused (${response.status}).`);
	return told;
}

export const get = (path) => ask(path);
export const post = (path, body = {}) => ask(path, body);

/** The same for a text. What its first character makes something else of it is sent only if meant. */
export const say = (path, body) => post(path, body).catch((refusal) => {
	if (refusal.status !== 428 || !confirm(`${refusal.message}\n\nSend it all the same?`)) throw refusal;
	return post(path, {...body, as_is: true});
});

/** Tries again after 0.5, 1, 2 … 15 seconds, a little uneven, so that many tabs do not come at once. */
class Patience {
	tries = 0;
	constructor(again) {
		this.again = again;
	}
	wait() {
		const ms = Math.min(15_000, 500 * 2 ** this.tries++) * (0.8 + Math.random() * 0.4);
		this.stop();
		this.timer = setTimeout(this.again, ms);
		return ms;
	}
	stop() {
		clearTimeout(this.timer);
	}
}

const patience = new Patience(listen);
let events = null;
let isUp = false;

export function listen() {
	hangUp();
	events = new EventSource("/api/events");
	for (const name of ["prompts", "sessions"]) events.addEventListener(name, ({data}) => {
		isUp = true;
		patience.tries = 0;
		tell("connection", {isUp});
		tell(name, JSON.parse(data)[name]);
	});
	// The browser's own retry neither grows nor tells why: a refused login must not look like a sleeping hub.
	events.onerror = async () => {
		hangUp();
		const isRefused = await get("/api/me").then(() => false, ({status}) => status === 401);
		if (!isRefused && !events) tell("connection", {isUp, again: Date.now() + patience.wait()});
	};
}

export function hangUp() {
	patience.stop();
	events?.close();
	events = null;
	isUp = false;
}

/** The socket of a live screen. `told` gets each message, `state` hears whether it is open. */
export class Live {
	constructor(session, told, state) {
		Object.assign(this, {session, told, state});
		this.patience = new Patience(() => this.open());
		this.open();
	}
	open() {
		this.end();
		const socket = new WebSocket(`${location.origin.replace("http", "ws")}/api/sessions/${this.session}/live`);
		this.socket = socket;
		const heard = (react) => (event) => socket === this.socket && react(event);
		socket.onopen = heard(() => this.state(true));
		socket.onmessage = heard(({data}) => {
			this.patience.tries = 0;
			this.told(JSON.parse(data));
		});
		socket.onclose = heard(() => {
			this.state(false);
			this.patience.wait();
		});
	}
	say(message) {
		const isOpen = this.socket?.readyState === WebSocket.OPEN;
		if (isOpen) this.socket.send(JSON.stringify(message));
		return isOpen;
	}
	end() {
		this.patience.stop();
		const old = this.socket;
		this.socket = null;
		old?.close();
	}
}

/** Hidden for longer than this, a machine may have slept: its connections look alive and are not. */
const NAP_MS = 10_000;
let hiddenAt = Infinity;

/** Calls `wake` when the machine or the network came back. */
export function onWake(wake) {
	document.addEventListener("visibilitychange", () => {
		if (document.hidden) hiddenAt = Date.now();
		else if (!isUp || Date.now() - hiddenAt > NAP_MS) wake();
	});
	addEventListener("online", wake);
}
