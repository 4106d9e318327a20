// Pictures of every view in both themes, desktop and phone, for looking at. node testkit/browser/look.mjs OUTDIR
import { asks, furnish, Mock } from "./mock.mjs";
import { browser } from "./browser.mjs";
const out = process.argv[2];
const mock = new Mock();
await mock.listen();
const { api, gemini, bash } = furnish(mock);
asks.approval(mock, api); asks.text(mock, gemini); asks.yesNo(mock, bash);
const chromium = await browser();
for (const [size, width, height] of [["desktop", 1280, 800], ["phone", 360, 740]]) for (const colorScheme of ["light", "dark"]) {
  const context = await chromium.newContext({ viewport: { width, height }, colorScheme, deviceScaleFactor: size === "phone" ? 2 : 1, isMobile: size === "phone", hasTouch: size === "phone" });
  const page = await context.newPage();
  page.on("console", (m) => console.log(size, colorScheme, m.type(), m.text())); page.on("pageerror", (e) => console.log("ERR", e.message));
  await page.goto(mock.link());
  await page.waitForSelector(".card");
  for (const [name, hash] of [["inbox", "#/"], ["sessions", "#/sessions"], ["session", `#/session/${api.id}`], ["history", "#/history"], ["audit", "#/audit"]]) {
    await page.evaluate((h) => { location.hash = h; }, hash);
    await page.waitForTimeout(900);
    await page.screenshot({ path: `${out}/${name}-${size}-${colorScheme}.png`, fullPage: true });
  }
  await page.click("#settings"); await page.waitForTimeout(300);
  await page.screenshot({ path: `${out}/settings-${size}-${colorScheme}.png` });
  await context.close();
}
await chromium.close(); await mock.close();
