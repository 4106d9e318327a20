// Runs the steps of page.mjs in Debian's Chromium: prints `ok NAME` or `not ok NAME: reason`, ends with 1 if any failed.
//
//   node testkit/browser/run.mjs [--out DIR]                                  against the mock
//   node testkit/browser/run.mjs --base URL --hook COMMAND [--out DIR]        against a hub
//
// The hook is a program: `COMMAND link` prints a one-time link; `COMMAND ask approval|yes_no|text|hostile` makes a tool
// ask and prints its card as GET /api/prompts has it; `COMMAND stop` and `COMMAND start` take the hub away and bring it
// back at the same address. ATLASBRIDGE_PAGE_BASE and ATLASBRIDGE_PAGE_HOOK say the same. Pictures go to DIR.

import { execFile } from "node:child_process";
import { mkdir, readdir, stat } from "node:fs/promises";
import { promisify } from "node:util";
import { browser } from "./browser.mjs";
import { asks, furnish, Mock } from "./mock.mjs";
import { askingSteps, mockSteps, steps } from "./page.mjs";

const MOST_BYTES = 60_000;
const UI = new URL("../../crates/web/ui/", import.meta.url);

const option = (name, variable) => {
  const at = process.argv.indexOf(`--${name}`);
  return at > 0 ? process.argv[at + 1] : process.env[variable];
};
const base = option("base", "ATLASBRIDGE_PAGE_BASE");
const hook = option("hook", "ATLASBRIDGE_PAGE_HOOK");
const out = option("out", "ATLASBRIDGE_PAGE_OUT");
if (out) await mkdir(out, { recursive: true });

async function mockWorld() {
  const mock = new Mock();
  await mock.listen();
  const { api, bash, gemini } = furnish(mock);
  const session = { approval: api, yes_no: bash, text: gemini };
  const kinds = { ...asks, yes_no: asks.yesNo };
  return {
    mock, base: mock.base, link: async () => mock.link(), close: () => mock.close(), restart: (meanwhile) => mock.restart(meanwhile),
    ask: async (what) => kinds[what](mock, session[what] ?? bash),
  };
}

function hubWorld() {
  const run = async (...words) => (await promisify(execFile)(hook, words, { timeout: 60_000 })).stdout.trim();
  return {
    base: base.replace(/\/$/, ""), link: () => run("link"), close: async () => {}, ask: async (what) => JSON.parse(await run("ask", what)),
    restart: async (meanwhile) => { await run("stop"); await meanwhile(); await run("start"); },
  };
}

let failed = 0;
async function tell(name, work) {
  try {
    await work();
    console.log(`ok ${name}`);
  } catch (problem) {
    failed += 1;
    console.log(`not ok ${name}: ${String(problem.message ?? problem).replaceAll("\n", "\n    ")}`);
  }
}

await tell("the assets are small, and no file names another host", async () => {
  const names = await readdir(UI);
  const sizes = await Promise.all(names.map(async (name) => (await stat(new URL(name, UI))).size));
  const sum = sizes.reduce((one, other) => one + other, 0);
  console.log(`# ${names.length} files, ${sum} bytes`);
  if (sum >= MOST_BYTES) throw new Error(`${sum} bytes, at most ${MOST_BYTES}`);
});

const chromium = await browser();
const looks = [["desktop", "light"], ["phone", "dark"], ["desktop", "dark"], ["phone", "light"]];
for (const [number, [size, colorScheme]] of looks.entries()) {
  const world = base ? hubWorld() : await mockWorld();
  const isPhone = size === "phone";
  const viewport = isPhone ? { width: 360, height: 740 } : { width: 1280, height: 800 };
  const complaints = [];
  let isForgiving = false;
  const fresh = async (more = {}) => {
    const context = await chromium.newContext({ viewport, colorScheme, isMobile: isPhone, hasTouch: isPhone, deviceScaleFactor: isPhone ? 2 : 1, ...more });
    context.setDefaultTimeout(15_000);
    context.on("request", (request) => {
      const url = request.url();
      if (!url.startsWith("data:") && new URL(url).origin !== world.base) complaints.push(`a request to ${url}`);
    });
    context.on("weberror", (error) => complaints.push(`an error: ${error.error().stack}`));
    context.on("console", (message) => {
      // A refusal is told by the browser as an error, though the page asked for it and handles it.
      const isRefusal = message.text().startsWith("Failed to load resource") && /status of (401|403|409)/.test(message.text());
      if (["error", "warning"].includes(message.type()) && !isRefusal && !isForgiving) complaints.push(`on the console: ${message.text()}`);
    });
    return context.newPage();
  };
  const page = await fresh();
  const shot = async (name) => out && page.screenshot({ path: `${out}/${name}-${size}-${colorScheme}.png` });
  const forgive = async (work) => {
    isForgiving = true;
    await work();
    await page.getByText("Reconnecting…").waitFor({ state: "hidden", timeout: 30_000 });
    isForgiving = false;
  };
  /** What the browser said so far and should have: that it refused what a hostile row asked for. */
  const expect = (pattern) => complaints.splice(0, complaints.length, ...complaints.filter((complaint) => !pattern.test(complaint)));
  const todo = { ...steps, ...(hook || !base ? askingSteps : {}), ...(world.mock && number < 2 ? mockSteps : {}) };
  for (const [name, step] of Object.entries(todo)) {
    await tell(`${size} ${colorScheme}: ${name}`, async () => {
      await step({ page, world, fresh, shot, forgive, expect, isPhone });
      if (complaints.length) throw new Error(complaints.splice(0).join("\n"));
    });
  }
  await page.context().close();
  await world.close();
}
await chromium.close();
console.log(failed ? `# ${failed} failed` : "# all passed");
process.exit(failed ? 1 : 0);
