// The live screen of a session: rows that the hub rendered, a cursor, and keys that must be unlocked first.

import { fill, h, visible } from "./dom.js";
import { get, Live } from "./wire.js";

const CLASSES = /^([fb](\d|1[0-5])|bo|di|it|un|st|re|hi|w2)$/;
const COLOUR = /^#[0-9a-f]{6}$/i;
const parser = new DOMParser();

/** A row as we draw it: spans with known classes and colours, and text. Whatever else came is its text. */
export function cleanRow(html) {
  const copy = (from, into) => {
    for (const node of from.childNodes) {
      if (node.nodeType === Node.TEXT_NODE) into.append(node.data);
      if (node.nodeType !== Node.ELEMENT_NODE) continue;
      if (node.localName !== "span") { copy(node, into); continue; }
      const span = document.createElement("span");
      span.className = [...node.classList].filter((name) => CLASSES.test(name)).join(" ");
      for (const side of ["f", "b"]) {
        const colour = node.dataset[side];
        if (COLOUR.test(colour)) { span.style.setProperty(`--${side}`, colour); span.classList.add(side); }
      }
      copy(node, span);
      into.append(span);
    }
  };
  const row = document.createDocumentFragment();
  copy(parser.parseFromString(html, "text/html").body, row);
  return row;
}

const KEYS = [["escape", "Esc"], ["tab", "Tab"], ["up", "↑", "Up"], ["down", "↓", "Down"], ["left", "←", "Left"], ["right", "→", "Right"],
  ["enter", "Enter"], ["backspace", "⌫", "Backspace"], ["ctrl_c", "Ctrl-C"], ["ctrl_d", "Ctrl-D"]];

/** Smallest letters that can be read, and the largest that are of use, in pixels. A screen too wide for the first scrolls. */
const LETTERS = [9, 14.5];

export class Screen {
  constructor(session) {
    this.session = session;
    this.rows = [];
    this.size = [80, 24];
    this.cursor = h("span.cursor", { hidden: true });
    this.grid = h("pre.grid", { "aria-label": "Live screen", role: "group" });
    this.frame = h("div.frame", { tabindex: "0", role: "region", "aria-label": "Live screen, scrolls" }, this.grid);
    this.status = h("p.status", { role: "status" }, "Connecting…");
    this.alternate = h("span.tag.calm", { hidden: true, title: "A full-screen program; what it shows does not scroll away" }, "alternate screen");
    this.lines = h("div.lines", { hidden: true });
    this.more = h("button.quiet", { type: "button", onclick: () => this.toggleLines() }, "Show earlier lines");
    this.element = h("section.screen", { "aria-label": "Live screen" }, h("div.row.bar", null, this.status, this.alternate, this.more), this.lines, this.frame, this.keys());
    this.lock();
    this.watcher = new ResizeObserver(() => this.fit());
    this.watcher.observe(this.frame);
    this.live = new Live(session, (message) => this.told(message), (state) => this.connection(state));
  }

  keys() {
    const press = (key) => this.type({ t: "key", key });
    this.bar = h("div.keybar", { role: "group", "aria-label": "Keys" },
      KEYS.map(([key, face, name]) => h("button", { type: "button", "data-key": key, "aria-label": name ?? null, onclick: () => press(key) }, face)));
    this.input = h("input", { type: "text", autocomplete: "off", autocapitalize: "off", spellcheck: "false", "aria-label": "A line to type", placeholder: "A line to type" });
    this.withEnter = h("input", { type: "checkbox", checked: true });
    this.form = h("form.row.typeline", { onsubmit: (event) => { event.preventDefault(); this.sendLine(); } },
      this.input, h("label.check", null, this.withEnter, h("span", null, "then Enter")), h("button", { type: "submit" }, "Type"));
    this.unlocker = h("button", { type: "button", onclick: () => (this.isUnlocked ? this.live.open() : this.unlock()) });
    this.meaning = h("p");
    this.outcome = h("p.problem", { role: "alert", hidden: true });
    return h("div.typing", null, h("div.row", null, this.meaning, this.unlocker), this.bar, this.form, this.outcome);
  }

  lock() {
    this.isUnlocked = false;
    this.drawLock();
  }

  unlock() {
    if (!this.live.say({ t: "unlock" })) return;
    this.isUnlocked = true;
    this.drawLock();
    this.bar.querySelector("button").focus();
  }

  drawLock() {
    this.meaning.textContent = this.isUnlocked
      ? "Unlocked: keys go straight into the terminal, also into a dialog that waits. Leaving this view locks it again."
      : "Watching only. Unlocked, keys go straight into the terminal, as if typed there.";
    this.unlocker.textContent = this.isUnlocked ? "Lock typing" : "Unlock typing";
    this.unlocker.className = this.isUnlocked ? "" : "unlock";
    this.unlocker.disabled = !this.isOpen;
    for (const control of [...this.bar.children, ...this.form.querySelectorAll("input, button")]) control.disabled = !this.isUnlocked;
  }

  sendLine() {
    if (!this.isUnlocked || !this.input.value) return;
    if (this.type({ t: "text", text: this.input.value, enter: this.withEnter.checked })) this.input.value = "";
  }

  type(message) {
    this.complain("");
    const isSent = this.isUnlocked && this.live.say(message);
    if (!isSent) this.complain("Not typed: the connection is gone. It is being opened again.");
    return isSent;
  }

  complain(text) {
    this.outcome.hidden = !text;
    this.outcome.textContent = text;
  }

  /** Each connection begins locked: the hub forgets an unlocking with the connection that it came over. */
  connection(state) {
    this.isOpen = state === "open";
    this.element.classList.toggle("stale", !this.isOpen);
    if (!this.isGone) this.status.textContent = this.isOpen ? "Live" : "Reconnecting…";
    this.lock();
  }

  told(message) {
    if (message.t === "screen") this.draw(message);
    else if (message.t === "gone") this.gone();
    else if (message.t === "typed") this.complain(message.ok ? "" : message.error ?? "Not typed.");
  }

  draw({ columns, height, rows, cursor, alternate, whole }) {
    if (whole || columns !== this.size[0] || height !== this.size[1] || this.rows.length !== height) this.measure(columns, height, whole);
    for (const [row, html] of Object.entries(rows ?? {})) this.rows[row]?.replaceChildren(cleanRow(html));
    this.alternate.hidden = !alternate;
    this.cursor.hidden = !cursor;
    if (cursor) {
      this.cursor.style.setProperty("--row", cursor[0]);
      this.cursor.style.setProperty("--column", cursor[1]);
    }
  }

  measure(columns, height, isWhole) {
    this.size = [columns, height];
    const rows = Array.from({ length: height }, (_, row) => (isWhole ? null : this.rows[row]) ?? h("div"));
    this.rows = rows;
    fill(this.grid, rows, this.cursor);
    this.grid.style.setProperty("--columns", columns);
    this.fit();
  }

  /** As many pixels a letter as let the whole width be seen. */
  fit() {
    this.letter ??= this.breadth();
    const room = this.frame.clientWidth - 26;
    const size = Math.max(LETTERS[0], Math.min(LETTERS[1], room / (this.size[0] * (this.letter ?? 0.6))));
    this.grid.style.fontSize = `${Math.floor(size * 4) / 4}px`;
  }

  /** How broad a letter is, in parts of its height: whatever font the browser has chosen. */
  breadth() {
    const probe = h("span.unseen", null, "0".repeat(50));
    this.grid.append(probe);
    const breadth = probe.getBoundingClientRect().width / 50 / parseFloat(getComputedStyle(probe).fontSize);
    probe.remove();
    return breadth || null;
  }

  gone() {
    this.isGone = true;
    this.status.textContent = "This session has no live screen: it has ended, or its host is not connected.";
    this.element.classList.add("stale");
    this.cursor.hidden = true;
    this.live.end();
    this.isOpen = false;
    this.lock();
  }

  /** The session's host is connected again. */
  revive() {
    if (!this.isGone) return;
    this.isGone = false;
    this.live.open();
  }

  async toggleLines() {
    if (!this.lines.hidden) {
      this.lines.hidden = true;
      this.more.textContent = "Show earlier lines";
      return;
    }
    const told = await get(`/api/sessions/${this.session}/lines`).catch((refusal) => ({ problem: refusal.message }));
    const text = told.problem ?? (told.lines.length ? told.lines.join("\n") : "Nothing has scrolled away yet.");
    const lines = h("pre", { tabindex: "0", role: "group", "aria-label": "Earlier lines, the last thousand" }, visible(text));
    fill(this.lines, lines);
    this.lines.hidden = false;
    lines.scrollTop = lines.scrollHeight;
    this.more.textContent = "Hide earlier lines";
  }

  end() {
    this.watcher.disconnect();
    this.live.end();
  }
}
