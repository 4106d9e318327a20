// A smoke test in Debian's Firefox ESR, over Marionette, its own remote control: playwright cannot drive this build.
//
//   node testkit/browser/firefox.mjs [--base URL --hook COMMAND] [--out DIR]     as run.mjs

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openWorld, option, tell, verdict } from "./world.mjs";

const LIMIT_MS = 60_000;

async function until(what, reason, limit = LIMIT_MS) {
  for (const end = Date.now() + limit; ;) {
    const found = await what();
    if (found) return found;
    if (Date.now() > end) throw new Error(`waited too long until ${reason}`);
    await new Promise((done) => setTimeout(done, 50));
  }
}

/** Messages are `LENGTH:[type, id, command, parameters]`, answers `LENGTH:[1, id, error, result]`. */
class Marionette {
  constructor(socket) {
    this.socket = socket;
    this.waiting = new Map();
    this.last = 0;
    let rest = Buffer.alloc(0);
    socket.on("data", (chunk) => {
      rest = Buffer.concat([rest, chunk]);
      for (let colon = rest.indexOf(":"); colon > 0; colon = rest.indexOf(":")) {
        const end = colon + 1 + Number(rest.subarray(0, colon));
        if (rest.length < end) return;
        const message = JSON.parse(rest.subarray(colon + 1, end));
        rest = rest.subarray(end);
        if (Array.isArray(message)) this.waiting.get(message[1])?.(message);
      }
    });
  }
  async send(command, parameters = {}) {
    const id = ++this.last;
    const text = JSON.stringify([0, id, command, parameters]);
    const answer = new Promise((done) => this.waiting.set(id, done));
    this.socket.write(`${Buffer.byteLength(text)}:${text}`);
    const [, , error, result] = await answer;
    if (error) throw new Error(`${command}: ${error.message}`);
    return result?.value !== undefined ? result.value : result;
  }
  run(script, ...args) {
    return this.send("WebDriver:ExecuteScript", { script, args });
  }
  /** The text of the first element that fits, once there is one with this text. */
  sees(selector, text = "") {
    return until(() => this.run("const found = [...document.querySelectorAll(arguments[0])].find((one) => one.innerText.includes(arguments[1])); return found ? found.innerText || 'there' : null", selector, text), `${selector} says ${text}`, 20_000);
  }
  async click(selector) {
    const element = await this.send("WebDriver:FindElement", { using: "css selector", value: selector });
    await this.send("WebDriver:ElementClick", { id: Object.values(element)[0] });
  }
}

async function start(profile) {
  if (!existsSync("/usr/bin/firefox-esr")) throw new Error("there is no Firefox: apt-get install firefox-esr");
  await writeFile(join(profile, "user.js"), 'user_pref("marionette.port", 0);\nuser_pref("browser.shell.checkDefaultBrowser", false);\nuser_pref("datareporting.policy.dataSubmissionEnabled", false);\n');
  const firefox = spawn("/usr/bin/firefox-esr", ["--headless", "--marionette", "--profile", profile, "--no-remote", "--new-instance"], { stdio: "ignore", env: { ...process.env, HOME: profile } });
  const port = await until(() => readFile(join(profile, "MarionetteActivePort"), "utf8").catch(() => null), "Firefox listens");
  const socket = connect(Number(port), "127.0.0.1");
  await new Promise((done, fail) => socket.once("connect", done).once("error", fail));
  const marionette = new Marionette(socket);
  await marionette.send("WebDriver:NewSession", { capabilities: {} });
  return { firefox, marionette };
}

const out = option("out", "ATLASBRIDGE_PAGE_OUT");
if (out) await mkdir(out, { recursive: true });
const profile = await mkdtemp(join(tmpdir(), "atlasbridge-firefox-"));
const world = await openWorld();
const { firefox, marionette } = await start(profile);
const shot = async (name) => out && writeFile(join(out, `${name}-firefox.png`), await marionette.send("WebDriver:TakeScreenshot", { full: false }), "base64");

await tell("firefox: a link signs in", async () => {
  await marionette.send("WebDriver:SetWindowRect", { width: 1280, height: 900 });
  await marionette.send("WebDriver:Navigate", { url: await world.link() });
  await marionette.sees("h1", "Inbox");
  await marionette.run("window.refused = []; addEventListener('securitypolicyviolation', (event) => refused.push(event.violatedDirective)); addEventListener('error', (event) => refused.push(event.message))");
});
await tell("firefox: a prompt arrives, is answered, and its end is told", async () => {
  const prompt = await world.ask("yes_no");
  const card = `.card[data-prompt="${prompt.id}"]`;
  await marionette.sees(card);
  await until(() => marionette.run("return !document.querySelector('.moving')"), "the cards stand still");
  await shot("prompt");
  await marionette.click(`${card} .accepts`);
  await marionette.sees(`${card} .end`, "applied");
});
await tell("firefox: the live screen shows text", async () => {
  const prompt = await world.ask("approval");
  await marionette.run("location.hash = arguments[0]", `#/session/${prompt.session.id}`);
  await until(async () => (await marionette.run("return document.querySelector('.grid')?.innerText.trim()")), "the screen shows text");
  await shot("session");
});
await tell("firefox: history and audit are there, and nothing was refused", async () => {
  await marionette.run("location.hash = '#/history'");
  await marionette.sees(".past");
  await marionette.run("location.hash = '#/audit'");
  await marionette.sees(".verdict.good");
  assert.deepEqual(await marionette.run("return window.refused"), []);
});

await marionette.send("Marionette:Quit", { flags: ["eForceQuit"] }).catch(() => {});
await Promise.race([new Promise((done) => firefox.once("exit", done)), new Promise((done) => setTimeout(done, 10_000).unref())]);
firefox.kill("SIGKILL");
await world.close();
await rm(profile, { recursive: true, force: true });
verdict();
