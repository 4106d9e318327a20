// What stands behind the page in a test: the mock, or a hub that a hook program speaks for; and how a test tells its end.

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { asks, furnish, Mock } from "./mock.mjs";

export function option(name, variable) {
  const at = process.argv.indexOf(`--${name}`);
  return at > 0 ? process.argv[at + 1] : process.env[variable];
}

const base = option("base", "ATLASBRIDGE_PAGE_BASE");
const hook = option("hook", "ATLASBRIDGE_PAGE_HOOK");
const link = option("link", "ATLASBRIDGE_PAGE_LINK");
if (Boolean(base) !== Boolean(hook || link)) {
  console.error("--base goes with --hook or --link, and they with it");
  process.exit(2);
}

export const openWorld = () => (hook ? hubWorld() : link ? linkWorld() : mockWorld());

/** A hub of which only one way in is known: no tool can be made to ask. */
const linkWorld = () => ({ base: base.replace(/\/$/, ""), link: async () => link, close: async () => {} });

async function mockWorld() {
  const mock = new Mock();
  await mock.listen();
  const { api, bash, gemini } = furnish(mock);
  const sessions = { approval: api, text: gemini };
  return {
    mock, base: mock.base, link: async () => mock.link(), close: () => mock.close(), restart: (meanwhile) => mock.restart(meanwhile),
    ask: async (what) => asks[what](mock, sessions[what] ?? bash),
  };
}

function hubWorld() {
  const run = async (...words) => (await promisify(execFile)(hook, words, { timeout: 60_000 })).stdout.trim();
  return {
    base: base.replace(/\/$/, ""), link: () => run("link"), close: async () => {}, ask: async (what) => JSON.parse(await run("ask", what)),
    restart: async (meanwhile) => { await run("stop"); await meanwhile(); await run("start"); },
    hub: {
      read: async ({ session }) => JSON.parse(await run("read", session.label)), type: ({ session }, keys) => run("type", session.label, keys),
      end: ({ session }) => run("end", session.label), revoke: (name) => run("revoke", name),
    },
  };
}

let failed = 0;

/** `ok NAME`, or `not ok NAME: reason`. */
export async function tell(name, work) {
  try {
    await work();
    console.log(`ok ${name}`);
  } catch (problem) {
    failed += 1;
    console.log(`not ok ${name}: ${String(problem.message ?? problem).replaceAll("\n", "\n    ")}`);
  }
}

export function verdict() {
  console.log(failed ? `# ${failed} failed` : "# all passed");
  process.exit(failed ? 1 : 0);
}
