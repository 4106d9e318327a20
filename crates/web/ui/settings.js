// What this browser was told to do: kept in localStorage, and nowhere else.

import { h } from "./dom.js";
import { post } from "./wire.js";

const FIRST = { theme: "auto", screen: "auto", sound: false, notify: false };
const NAME = "atlasbridge";

function load() {
  try {
    return { ...FIRST, ...JSON.parse(localStorage.getItem(NAME)) };
  } catch {
    return { ...FIRST };
  }
}

export const settings = load();

export function set(name, value) {
  settings[name] = value;
  try {
    localStorage.setItem(NAME, JSON.stringify(settings));
  } catch {
    // A browser that keeps nothing: the setting holds until the tab is closed.
  }
  apply();
}

const prefersDark = matchMedia("(prefers-color-scheme: dark)");
prefersDark.addEventListener("change", apply);

export function apply() {
  const theme = settings.theme === "auto" ? (prefersDark.matches ? "dark" : "light") : settings.theme;
  document.documentElement.dataset.theme = theme;
  document.documentElement.dataset.screen = settings.screen === "auto" ? theme : settings.screen;
}

/** Two short tones. Made here: no file is fetched. */
export function beep() {
  const context = new AudioContext();
  for (const [at, pitch] of [[0, 660], [0.14, 880]]) {
    const tone = new OscillatorNode(context, { frequency: pitch });
    const volume = new GainNode(context, { gain: 0 });
    const start = context.currentTime + at;
    volume.gain.setValueAtTime(0, start);
    volume.gain.linearRampToValueAtTime(0.12, start + 0.02);
    volume.gain.linearRampToValueAtTime(0, start + 0.13);
    tone.connect(volume).connect(context.destination);
    tone.start(start);
    tone.stop(start + 0.14);
  }
  setTimeout(() => context.close(), 600);
}

/** Something arrived: tells it as far as it was switched on. `show` brings the page to it. */
export function alertOf(title, body, tag, show) {
  if (settings.sound) beep();
  if (!settings.notify || document.hasFocus() || !("Notification" in window) || Notification.permission !== "granted") return;
  try {
    const notification = new Notification(title, { body, tag, icon: "/assets/icon.svg" });
    notification.onclick = () => { window.focus(); show(); notification.close(); };
  } catch {
    // Some phones have the name but not the thing; sound and the page's title remain.
  }
}

const KEYS = [
  ["j / k", "select the next or previous prompt"], ["1 – 9", "point at an answer of the selected prompt"],
  ["Enter", "send the answer that is pointed at"], ["t", "write a text"], ["Esc", "let go"],
  ["g i / s / h / a", "inbox, sessions, history, audit"], ["?", "this help"],
];

function choice(label, name, options) {
  return h("label.field", null, label, h("select", { onchange: (event) => set(name, event.target.value) },
    options.map(([value, text]) => h("option", { value, selected: settings[name] === value }, text))));
}

function toggle(label, name, note, turn) {
  const status = h("small", null, note);
  const box = h("input", {
    type: "checkbox", checked: settings[name],
    onchange: async () => {
      const problem = box.checked ? await turn?.() : null;
      if (problem) { box.checked = false; status.textContent = problem; }
      set(name, box.checked);
    },
  });
  return h("label.check", null, box, h("span", null, label, status));
}

async function askToNotify() {
  if (!("Notification" in window) || !isSecureContext) return "This browser shows notifications only for https or this very machine.";
  const answer = await Notification.requestPermission();
  return answer === "granted" ? null : "The browser does not allow it: see the permissions of this page.";
}

/** Settings and help, in one dialog. */
export function open(me) {
  const dialog = h("dialog.settings", { "aria-labelledby": "settings-title", onclose: () => dialog.remove() },
    h("div.row", null, h("h2", { id: "settings-title" }, "Settings"),
      h("button.quiet.round", { type: "button", "aria-label": "Close", onclick: () => dialog.close() }, "✕")),
    toggle("Notifications", "notify", "when a prompt arrives while this page is out of sight", askToNotify),
    toggle("Sound", "sound", "two short tones when a prompt arrives", () => { beep(); }),
    choice("Colours", "theme", [["auto", "as the system"], ["light", "light"], ["dark", "dark"]]),
    choice("Live screen", "screen", [["auto", "as the page"], ["light", "light"], ["dark", "dark"]]),
    h("h3", null, "Keys"),
    h("dl.keys", null, KEYS.map(([key, text]) => [h("dt", null, h("kbd", null, key)), h("dd", null, text)])),
    h("div.row.foot", null, h("small", null, `Signed in as ${me.visitor} · AtlasBridge ${me.version}`),
      h("button", { type: "button", onclick: async () => { await post("/api/logout").catch(() => {}); location.replace("/"); } }, "Sign out")));
  document.body.append(dialog);
  dialog.showModal();
}
