// Making elements, and the words for times. Whatever came from elsewhere becomes a text node, never markup.

/** An element: `h("p.note", {hidden: true}, "text", child)`. Functions under `on…` listen, `null` children are left out. */
export function h(what, props, ...children) {
  const [tag, ...classes] = what.split(".");
  const element = document.createElement(tag || "div");
  if (classes.length) element.className = classes.join(" ");
  for (const [name, value] of Object.entries(props ?? {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element && typeof value !== "string") element[name] = value;
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
  }
  fill(element, ...children);
  return element;
}

export function fill(element, ...children) {
  element.replaceChildren(...children.flat(2).filter((child) => child !== null && child !== undefined && child !== false));
}

const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e0fff}]/gu;

/** The text with every character that would be unseen, or turn the text around, named instead: nothing can hide in it. */
export function visible(text) {
  const parts = document.createDocumentFragment();
  let end = 0;
  for (const match of (text ?? "").matchAll(UNSEEN)) {
    parts.append(text.slice(end, match.index));
    const code = match[0].codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    parts.append(h("span.odd", { title: "A character that cannot be seen" }, `U+${code}`));
    end = match.index + match[0].length;
  }
  parts.append((text ?? "").slice(end));
  return parts;
}

/** A program's or a person's words inside ours: isolated, so that they cannot turn ours around. */
export const quoted = (text, what = "bdi") => h(what, null, visible(text));

/** 75 → `1:15`, 4000 → `1:06:40`: for what runs down while one watches. */
export function clock(seconds) {
  const two = (number) => String(number).padStart(2, "0");
  const [hours, minutes, rest] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, Math.floor(seconds % 60)];
  return hours ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}

/** 75 → `1 min 15 s`, 90000 → `1 d 1 h`: for what has taken its time. */
export function duration(seconds) {
  const units = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
  const first = units.findIndex(([, size]) => seconds >= size);
  if (first < 0) return "0 s";
  const [unit, size] = units[first];
  const whole = `${Math.floor(seconds / size)} ${unit}`;
  const next = units[first + 1];
  const rest = next ? Math.floor((seconds % size) / next[1]) : 0;
  return rest ? `${whole} ${rest} ${next[0]}` : whole;
}

export const secondsBetween = (from, to) => Math.max(0, (new Date(to ?? Date.now()) - new Date(from)) / 1000);

/** A moment, short: the time today, the date before. The whole of it on hover. */
export function moment(text) {
  const at = new Date(text);
  const isToday = at.toDateString() === new Date().toDateString();
  const hours = { hour: "2-digit", minute: "2-digit" };
  const short = isToday ? at.toLocaleTimeString([], { ...hours, second: "2-digit" })
    : at.toLocaleString([], { year: "numeric", month: "short", day: "numeric", ...hours });
  return h("time", { datetime: text, title: at.toLocaleString() }, short);
}

/** Says something to a screen reader, whatever has the focus. */
export function announce(text) {
  const line = h("p", null, text);
  const announcer = document.getElementById("announcer");
  announcer.append(line);
  if (announcer.children.length > 5) announcer.firstChild.remove();
}

/** Text that counts by itself: `tell` is asked each second for as long as the element stands in the page. */
export function ticking(element, tell) {
  const tick = () => {
    const text = tell();
    if (element.textContent !== text) element.textContent = text;
  };
  tick();
  clocks.set(element, tick);
  return element;
}

const clocks = new Map();
setInterval(() => {
  for (const [element, tick] of clocks) {
    if (element.isConnected) tick();
    else clocks.delete(element);
  }
}, 1000);

/** A question that must be answered before anything happens. Resolves to whether it was confirmed. */
export function confirmed(title, body, yes) {
  return new Promise((resolve) => {
    const dialog = h("dialog", { "aria-labelledby": "confirm-title", onclose: () => { dialog.remove(); resolve(dialog.returnValue === "yes"); } },
      h("h2", { id: "confirm-title" }, title), h("p", null, body),
      h("div.row.end", null,
        h("button", { type: "button", autofocus: true, onclick: () => dialog.close("no") }, "Keep it"),
        h("button.refuse", { type: "button", onclick: () => dialog.close("yes") }, yes)));
    document.body.append(dialog);
    dialog.showModal();
  });
}
