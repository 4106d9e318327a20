// Debian's Chromium, driven by playwright-core from a cache outside the repository.

import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";

const PACKAGES = ["playwright-core@1.65.0", "axe-core@4.14.0"];
const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "atlasbridge-tests", "node");

function fetched() {
  const isThere = PACKAGES.every((name) => existsSync(join(cache, "node_modules", name.split("@")[0], "package.json")));
  if (!isThere) execFileSync("npm", ["install", "--prefix", cache, "--no-save", "--no-audit", "--no-fund", ...PACKAGES], { stdio: "inherit" });
  return createRequire(join(cache, "package.json"));
}

const require = fetched();
export const { chromium } = require("playwright-core");
export const axe = require("axe-core").source;

export function browser() {
  const executablePath = process.env.CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find(existsSync);
  if (!executablePath) throw new Error("there is no chromium: apt-get install chromium");
  return chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
}
