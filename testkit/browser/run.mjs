// Runs the steps of page.mjs in Debian's Chromium: prints `ok NAME` or `not ok NAME: reason`, ends with 1 if any failed.
//
//   node testkit/browser/run.mjs [--out DIR]                                  against the mock
//   node testkit/browser/run.mjs --base URL --hook COMMAND [--out DIR]        against a hub
//   node testkit/browser/run.mjs --base URL --link LINK [--out DIR]           the same, without what needs a tool that asks
//
// The hook is a program: `COMMAND link` prints a one-time link; `COMMAND ask approval|yes_no|text|hostile|agent|brief`
// makes a tool ask and prints its card as GET /api/prompts has it; `COMMAND stop` and `COMMAND start` take the hub away and
// bring it back at the same address; `COMMAND read LABEL` prints what the tool of this session read, as a JSON array;
// `COMMAND type LABEL KEYS` types at its terminal, `COMMAND end LABEL` ends it, `COMMAND revoke NAME` ends a login. ATLASBRIDGE_PAGE_BASE, _HOOK, _LINK and _OUT say the same. Pictures go to DIR.

import { mkdir, readdir, stat } from "node:fs/promises";
import { browser } from "./browser.mjs";
import { askingSteps, hubSteps, mockSteps, steps } from "./page.mjs";
import { openWorld, option, tell, verdict } from "./world.mjs";

const MOST_BYTES = 61_000;
const UI = new URL("../../crates/web/ui/", import.meta.url);

const out = option("out", "ATLASBRIDGE_PAGE_OUT");
if (out) await mkdir(out, { recursive: true });

await tell("the assets are small", async () => {
  const names = await readdir(UI);
  const sizes = await Promise.all(names.map(async (name) => (await stat(new URL(name, UI))).size));
  const sum = sizes.reduce((one, other) => one + other, 0);
  console.log(`# ${names.length} files, ${sum} bytes`);
  if (sum >= MOST_BYTES) throw new Error(`${sum} bytes, at most ${MOST_BYTES}`);
});

const chromium = await browser();
const looks = [["desktop", "light"], ["phone", "dark"], ["desktop", "dark"], ["phone", "light"]];
for (const [number, [size, colorScheme]] of looks.entries()) {
  const world = await openWorld();
  if (!world.ask && number > 0) {
    console.log("# a link works once: one look, and nothing that needs a tool that asks");
    break;
  }
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
      const isRefusal = message.text().startsWith("Failed to load resource") && /status of (401|403|409|428)/.test(message.text());
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
  const todo = { ...steps, ...(world.ask && askingSteps), ...(world.mock && number < 2 ? mockSteps : {}), ...(world.hub && number < 2 ? hubSteps : {}) };
  for (const [name, step] of Object.entries(todo)) {
    await tell(`${size} ${colorScheme}: ${name}`, async () => {
      await step({ page, world, fresh, shot, forgive, isPhone });
      if (complaints.length) throw new Error(complaints.splice(0).join("\n"));
    });
  }
  await page.context().close();
  await world.close();
}
await chromium.close();
verdict();
