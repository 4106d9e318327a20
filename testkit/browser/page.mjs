// What the page must do, step by step, in a real browser. Steps name states and wait for them; none waits for a duration.
//
// `world` is what stands behind the page: `link()` makes a one-time link, `ask(what)` makes a tool ask something and
// tells its session, `restart(meanwhile)` takes the hub away and brings it back. `world.mock` is there where the hub is
// the mock, for what only a made-up hub can be told to do; `world.hub` where it is a real one, with tools whose record of
// what they read is the truth.

import assert from "node:assert/strict";
import { axe } from "./browser.mjs";

const VIEWS = { inbox: "#/", sessions: "#/sessions", history: "#/history", audit: "#/audit" };

const card = (page, prompt) => page.locator(`.card[data-prompt="${prompt.id}"]`);
const word = (page, prompt) => card(page, prompt).locator(".end strong");

async function go(page, hash) {
  await page.evaluate((hash) => { location.hash = hash; }, hash);
  await page.locator("h1").waitFor();
}

async function ended(page, prompt, expected) {
  await word(page, prompt).filter({ hasText: new RegExp(`^${expected}$`, "i") }).waitFor();
}

async function until(what, reason) {
  const limit = Date.now() + 10_000;
  while (!(await what())) {
    if (Date.now() > limit) throw new Error(`waited too long until ${reason}`);
    await new Promise((done) => setTimeout(done, 20));
  }
}

/** What the tool itself read. */
async function took(world, prompt, ...expected) {
  if (!world.hub) return;
  let last;
  await until(async () => { last = await world.hub.read(prompt); return last.length >= expected.length; }, `the tool has read ${expected}`);
  assert.deepEqual(last, expected);
}

/** Serious and critical findings of axe, none of which is allowed. What colours a tool chose for its screen is its own affair. */
async function accessible(page, where) {
  await page.waitForFunction(() => !document.querySelector(".moving") && document.getAnimations().every((animation) => animation.playState === "finished" || animation.effect.getTiming().iterations === Infinity));
  await page.evaluate(axe);
  const found = await page.evaluate(() => window.axe.run({ exclude: [[".grid"]] }, { resultTypes: ["violations"] }));
  const grave = found.violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  assert.deepEqual(grave.map(({ id, nodes }) => `${where}: ${id}: ${nodes[0].html.slice(0, 160)}: ${nodes[0].failureSummary}`), []);
}

async function fits(page, where) {
  const [wide, room] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(wide <= room, `${where} is ${wide} pixels wide, there are ${room}`);
}

/** Steps that need one way in, and nothing else. */
export const steps = {
  async "a link signs in, once, and leaves the address bar"({ page, world, fresh }) {
    const link = await world.link();
    await page.goto(link);
    await page.getByRole("heading", { name: "Inbox" }).waitFor();
    assert.equal(page.url(), `${world.base}/`);
    const [cookie] = await page.context().cookies();
    assert.deepEqual([cookie.httpOnly, cookie.sameSite], [true, "Strict"]);
    assert.equal(await page.evaluate(() => document.cookie), "");
    const other = await fresh();
    await other.goto(link);
    await other.getByRole("heading", { name: "This link is used up" }).waitFor();
    await other.getByText("atlasbridge open", { exact: true }).waitFor();
    await accessible(other, "used up");
    await other.context().close();
  },

  async "without a login there is a way to get one, and nothing else"({ world, fresh }) {
    const other = await fresh();
    await other.goto(`${world.base}/#/history`);
    await other.getByRole("heading", { name: "Not signed in" }).waitFor();
    assert.equal(await other.locator("nav").isVisible(), false);
    await accessible(other, "not signed in");
    await other.context().close();
  },

  async "every view can be reached, fits, and has no serious accessibility violation"({ page, shot }) {
    for (const [name, hash] of Object.entries(VIEWS)) {
      await go(page, hash);
      await page.locator(`h1:text-is("${name[0].toUpperCase()}${name.slice(1)}")`).waitFor();
      if (name === "audit") await page.locator(".verdict.good").waitFor();
      if (name === "history") await page.getByText(/found\.$/).waitFor();
      if (name === "sessions") await page.locator("li").first().waitFor();
      await fits(page, name);
      await accessible(page, name);
      await shot(name);
    }
    await page.locator("#settings").click();
    await page.getByRole("dialog").waitFor();
    await accessible(page, "settings");
    await shot("settings");
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
  },
};

/** Steps that need tools that ask. */
export const askingSteps = {
  async "a prompt arrives by itself, and its whole dialog can be read"({ page, world, shot }) {
    await go(page, VIEWS.inbox);
    const prompt = await world.ask("approval");
    await card(page, prompt).waitFor();
    const text = await card(page, prompt).innerText();
    for (const part of [prompt.session.tool, prompt.session.cwd, "asks you to choose", "cargo test -p api", "If nobody answers: No"]) assert.ok(text.includes(part), part);
    assert.match(await page.title(), /^\(\d+\) Inbox · AtlasBridge$/);
    assert.match(await page.locator("#icon").getAttribute("href"), /icon-waiting/);
    assert.match(await card(page, prompt).locator(".timer").innerText(), /^\d+:\d\d$/);
    assert.match(await page.locator("#announcer").textContent(), /asks you to choose/);
    assert.equal(await page.evaluate(() => document.activeElement.closest(".answers")), null, "nothing is focused by itself");
    await fits(page, "inbox");
    await accessible(page, "inbox with a prompt");
    await shot("prompt");
    await card(page, prompt).getByRole("button", { name: "No", exact: false }).last().click();
    await ended(page, prompt, "applied");
    await took(world, prompt, "chose 3");
    await shot("end");
    await card(page, prompt).waitFor({ state: "detached" });
    await go(page, VIEWS.history);
    await page.locator(`.past[data-key="${prompt.id}"]`).getByText("applied").first().waitFor();
  },

  async "a text is counted, sent and applied"({ page, world }) {
    await go(page, VIEWS.inbox);
    const prompt = await world.ask("text");
    const box = card(page, prompt).getByLabel("Answer");
    const send = card(page, prompt).getByRole("button", { name: "Send" });
    assert.equal(await send.isDisabled(), true, "an empty text is not sent");
    await box.fill("x".repeat(prompt.max_length + 1));
    assert.equal(await send.isDisabled(), true, "a text too long is not sent");
    await box.fill("fix: the 🌉 bridge");
    await card(page, prompt).getByText(`17\u00a0/\u00a0${prompt.max_length}`).waitFor();
    await box.press("Enter");
    await ended(page, prompt, "applied");
    if (world.mock) assert.equal(world.mock.typed.at(-1).text, "fix: the 🌉 bridge");
    await took(world, prompt, "text fix: the 🌉 bridge");
  },

  async "a refusal can carry a reason"({ page, world, shot }) {
    await go(page, VIEWS.inbox);
    const prompt = await world.ask("approval");
    await card(page, prompt).getByText("Deny with a reason…").click();
    await card(page, prompt).getByLabel("Reason").fill("use the staging database");
    await shot("reason");
    await card(page, prompt).getByRole("button", { name: "Deny", exact: true }).click();
    await ended(page, prompt, "applied");
    if (world.mock) assert.equal(world.mock.typed.at(-1).deny_with_reason, "use the staging database");
    await took(world, prompt, "chose 3");
  },

  async "keys select and point, and only Enter sends"({ page, world, isPhone }) {
    if (isPhone) return;
    await go(page, VIEWS.inbox);
    const prompt = await world.ask("yes_no");
    await card(page, prompt).waitFor();
    await page.keyboard.press("1");
    await page.keyboard.press("Enter");
    await page.keyboard.press("j");
    await until(() => card(page, prompt).evaluate((element) => element === document.activeElement), "the newest card is selected");
    await page.keyboard.press("Enter");
    await page.keyboard.press("1");
    const first = card(page, prompt).locator(".answer").first();
    assert.equal(await first.evaluate((element) => element === document.activeElement), true);
    assert.equal(await card(page, prompt).locator(".end").count(), 0, "a single key sends nothing");
    await page.keyboard.press("Enter");
    await ended(page, prompt, "applied");
    await took(world, prompt, "answer y");
    await page.keyboard.press("?");
    await page.getByRole("heading", { name: "Settings" }).waitFor();
    await page.keyboard.press("Escape");
  },

  async "terminal text is text, whatever it contains"({ page, world, shot }) {
    await go(page, VIEWS.inbox);
    const prompt = await world.ask("hostile");
    await card(page, prompt).waitFor();
    const text = await card(page, prompt).innerText();
    for (const part of ["<script>", "onerror", "U+202E", "U+200B", "U+2800"]) assert.ok(text.includes(part), `${part} in ${text}`);
    assert.equal(await page.locator(".card img, .card script, .card b b").count(), 0);
    assert.doesNotMatch(await page.title(), /owned/);
    await shot("hostile");
    await card(page, prompt).getByRole("button", { name: "Leave it to the terminal" }).click();
    await ended(page, prompt, "canceled");
  },

  async "the live screen shows text and colours, and keys only once unlocked"({ page, world, shot }) {
    const prompt = await world.ask("approval");
    await go(page, `#/session/${prompt.session.id}`);
    await page.getByText("Live", { exact: true }).waitFor();
    await until(async () => (await page.locator(".grid").innerText()).trim() !== "", "the screen shows text");
    assert.equal(await page.getByRole("button", { name: "Esc" }).isDisabled(), true, "locked at first");
    await card(page, prompt).waitFor();
    if (world.mock) {
      const red = await page.locator(".grid span", { hasText: "−3" }).evaluate((span) => getComputedStyle(span).color);
      assert.notEqual(red, await page.locator(".grid").evaluate((grid) => getComputedStyle(grid).color));
      assert.equal(await page.locator(".grid span", { hasText: "truecolor" }).evaluate((span) => getComputedStyle(span).backgroundColor), "rgb(122, 31, 107)");
      const [one, two] = await page.evaluate(() => [document.querySelector(".cursor"), document.querySelector(".w2")].map((element) => element.getBoundingClientRect().width));
      assert.ok(Math.abs(two - 2 * one) < 0.5, `a wide character takes two cells: ${one}, ${two}`);
    }
    await fits(page, "session");
    await accessible(page, "session");
    await shot("session");
    await page.getByRole("button", { name: "Unlock typing" }).click();
    await page.getByRole("button", { name: "Esc" }).click();
    await took(world, prompt, "escape");
    if (world.mock) {
      await page.locator(".grid").getByText("typed: escape").waitFor();
      await page.getByLabel("A line to type").fill("<b>ls</b>");
      await page.getByLabel("A line to type").press("Enter");
      await page.locator(".grid").getByText("typed: <b>ls</b>").waitFor();
      const session = world.mock.sessions.find(({ id }) => id === prompt.session.id);
      world.mock.paint(session, { 10: `<img src=x onerror="document.title='owned'"><script>1</script><a href="/x">link</a><span class="f1 evil" style="position:fixed" data-f="red;x" onclick="1">plain</span>` });
      await page.locator(".grid").getByText("plain").waitFor();
      assert.equal(await page.locator(".grid img, .grid a, .grid script, .grid .evil, .grid [onclick], .grid [data-f]").count(), 0);
    }
    await page.getByRole("button", { name: "Lock typing" }).click();
    await until(() => page.getByRole("button", { name: "Esc" }).isDisabled(), "it is locked again");
    await page.getByRole("button", { name: "Show earlier lines" }).click();
    await page.getByRole("region", { name: "Earlier lines" }).waitFor();
    await go(page, VIEWS.inbox);
    await card(page, prompt).getByRole("button", { name: "Leave it to the terminal" }).click();
    await ended(page, prompt, "canceled");
  },

  async "the hub goes and comes back, and the page with it"({ page, world, shot, forgive }) {
    await go(page, VIEWS.inbox);
    let prompt;
    await forgive(() => world.restart(async () => {
      await page.getByText("Reconnecting…").waitFor();
      await shot("reconnecting");
    }));
    prompt = await world.ask("yes_no");
    await card(page, prompt).waitFor({ timeout: 30_000 });
    await page.getByText("Reconnecting…").waitFor({ state: "hidden" });
    await card(page, prompt).locator(".refuses").first().click();
    await ended(page, prompt, "applied");
    await took(world, prompt, "answer n");
  },
};

/** Steps that need a real hub, and tools whose terminals somebody types at. */
export const hubSteps = {
  async "several prompts at once stand newest first, and each gets its own answer"({ page, world, shot }) {
    await go(page, VIEWS.inbox);
    const prompts = [await world.ask("yes_no"), await world.ask("text"), await world.ask("approval")];
    for (const prompt of prompts) await card(page, prompt).waitFor();
    const order = await page.locator(".card").evaluateAll((cards) => cards.map((one) => one.dataset.prompt));
    assert.deepEqual(order.filter((id) => prompts.some((prompt) => prompt.id === id)), prompts.map(({ id }) => id).reverse());
    await shot("several");
    await card(page, prompts[1]).getByLabel("Answer").fill("the second");
    await card(page, prompts[2]).locator(".accepts").first().click();
    await ended(page, prompts[2], "applied");
    assert.equal(await card(page, prompts[1]).getByLabel("Answer").inputValue(), "the second", "a text that is being written stays");
    await card(page, prompts[1]).getByLabel("Answer").press("Enter");
    await ended(page, prompts[1], "applied");
    await card(page, prompts[0]).locator(".refuses").first().click();
    await ended(page, prompts[0], "applied");
    await took(world, prompts[0], "answer n");
    await took(world, prompts[1], "text the second");
    await took(world, prompts[2], "chose 1");
  },

  async "what is answered at the keyboard is told, and can be answered no more"({ page, world, shot }) {
    await go(page, VIEWS.inbox);
    const prompt = await world.ask("yes_no");
    await card(page, prompt).waitFor();
    await world.hub.type(prompt, "n");
    await ended(page, prompt, "answered at the terminal");
    assert.equal(await card(page, prompt).locator(".answers").isVisible(), false);
    await shot("keyboard");
    await took(world, prompt, "answer n");
  },

  async "a tool that ends takes its prompt along"({ page, world }) {
    await go(page, VIEWS.inbox);
    const prompt = await world.ask("text");
    await card(page, prompt).getByLabel("Answer").fill("too late");
    await world.hub.end(prompt);
    await ended(page, prompt, "canceled");
    await took(world, prompt);
  },

  async "time runs out, the safe default is typed, and the card says so"({ page, world, shot }) {
    await go(page, VIEWS.inbox);
    const prompt = await world.ask("brief");
    await card(page, prompt).locator(".timer").getByText(/^0:0\d$/).waitFor();
    assert.equal(await card(page, prompt).evaluate((element) => element.classList.contains("late")), true);
    await shot("late");
    await ended(page, prompt, "expired, safe default applied");
    await took(world, prompt, "answer n");
  },

  async "the reason of a refusal becomes the agent's next instruction"({ page, world, shot }) {
    await go(page, VIEWS.inbox);
    const prompt = await world.ask("agent");
    await card(page, prompt).getByText("Deny with a reason…").click();
    await card(page, prompt).getByLabel("Reason").fill("use the staging database");
    await card(page, prompt).getByRole("button", { name: "Deny", exact: true }).click();
    await ended(page, prompt, "applied");
    await took(world, prompt, "chose 3", "instruction use the staging database");
    await go(page, `#/session/${prompt.session.id}`);
    await until(async () => (await page.locator(".past .how", { hasText: "applied" }).count()) === 2, "the refusal and the instruction are both told");
    await shot("reasoned");
  },

  async "keys and lines go into the session once unlocked, and only then"({ page, world }) {
    const prompt = await world.ask("text");
    await go(page, `#/session/${prompt.session.id}`);
    await page.getByText("Live", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Unlock typing" }).click();
    await page.getByLabel("A line to type").fill("typed <b>from afar</b>");
    await page.getByLabel("A line to type").press("Enter");
    await took(world, prompt, "text typed <b>from afar</b>");
  },

  async "a session is stopped after a question, and its screen is told to be gone"({ page, world }) {
    const prompt = await world.ask("approval");
    await go(page, `#/session/${prompt.session.id}`);
    await page.getByText("Live", { exact: true }).waitFor();
    page.once("dialog", (dialog) => dialog.dismiss());
    await page.getByRole("button", { name: /^Stop / }).click();
    page.once("dialog", (dialog) => dialog.accept());
    await page.getByRole("button", { name: /^Stop / }).click();
    await page.locator("h1 + .tag, h1 .tag, .tag").getByText("terminated").first().waitFor();
    await page.getByText("No live screen").waitFor();
    await took(world, prompt);
  },

  async "history is searched, the audit log verified, and everything exported"({ page, shot }) {
    await go(page, VIEWS.history);
    await page.getByText(/found\.$/).waitFor();
    await page.getByLabel("Search").fill("COMMIT message");
    await until(async () => (await page.locator(".past").count()) > 0 && (await page.locator(".past .excerpt").allInnerTexts()).every((text) => text.includes("commit message")), "only what was looked for is listed");
    await page.locator(".past summary").first().click();
    await page.locator(".past .dialog").first().waitFor();
    await shot("found");
    await page.getByLabel("Search").fill("nothing of the kind");
    await page.getByText("Nothing found").waitFor();
    await page.getByLabel("Search").fill("");
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByText("Export JSON").click()]);
    const chunks = [];
    for await (const chunk of await download.createReadStream()) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    const everything = JSON.parse(text);
    assert.ok(everything.prompts.length > 5 && everything.sessions.length > 5 && everything.audit.length > 20, Object.keys(everything).join());
    assert.ok(!text.includes('"nonce"'), "no right to answer leaves the page");
    await go(page, VIEWS.audit);
    await page.locator(".verdict.good").waitFor();
  },

  async "a login that was taken back ends in the way to get one"({ world, fresh }) {
    const other = await fresh();
    await other.goto(await world.link());
    await other.getByRole("heading", { name: "Inbox" }).waitFor();
    const me = await other.evaluate(async () => (await fetch("/api/me")).json());
    await world.hub.revoke(me.visitor);
    await other.getByRole("heading", { name: "Not signed in" }).waitFor();
    await other.context().close();
  },
};

/** Steps that need a hub that does as it is told. */
export const mockSteps = {
  async "an answer is not an end until the hub says so"({ page, world, shot }) {
    await go(page, VIEWS.inbox);
    let release;
    const prompt = await world.ask("yes_no");
    prompt.hold = new Promise((done) => { release = done; });
    await card(page, prompt).locator(".accepts").click();
    await card(page, prompt).getByText("typing…").waitFor();
    assert.equal(await card(page, prompt).getByText("applied").count(), 0);
    assert.deepEqual(await card(page, prompt).locator(".answers button").evaluateAll((buttons) => buttons.map((button) => button.disabled)), [true, true]);
    await shot("typing");
    release();
    await ended(page, prompt, "applied");
  },

  async "who comes second is told, and who answered"({ page, world }) {
    await go(page, VIEWS.inbox);
    const [one, two] = [await world.ask("yes_no"), await world.ask("yes_no")];
    await until(async () => (await page.title()).startsWith(`(${world.mock.prompts.filter(({ is_open }) => is_open).length}) `), "both are counted");
    await card(page, two).waitFor();
    world.mock.end(one, "answered at the terminal");
    await ended(page, one, "answered at the terminal");
    two.nonce = "another";
    await card(page, two).locator(".accepts").click();
    await card(page, two).getByRole("alert").getByText("nothing was typed").waitFor();
    world.mock.end(two, "applied", { answered: { value: "yes", by: "telegram:123" } });
    await card(page, two).getByText("telegram:123").waitFor();
  },

  async "an instruction waits for a working agent, is confirmed where its first character says so, and taken back"({ page, world, shot }) {
    const session = world.mock.sessions.find(({ label }) => label === "api refactor");
    await go(page, `#/session/${session.id}`);
    const [box, send] = [page.getByLabel("Next instruction"), page.getByRole("button", { name: "Send" })];
    await box.fill("first line\nsecond line");
    await send.click();
    await page.getByText("Sent when it has finished: first line").waitFor();
    assert.equal(world.mock.typed.at(-1).text, "first line\nsecond line");
    await until(async () => (await box.inputValue()) === "", "the box is empty again");
    await fits(page, "an instruction waits");
    await accessible(page, "an instruction waits");
    await shot("instruction");
    page.once("dialog", (dialog) => dialog.dismiss());
    await box.fill("!rm -rf x");
    await send.click();
    await page.getByRole("alert").getByText("would be run as a shell command by claude").waitFor();
    assert.equal(await box.inputValue(), "!rm -rf x", "what was not sent stays");
    assert.equal(session.instructions.queued, "first line\nsecond line");
    page.once("dialog", (dialog) => dialog.accept());
    await send.click();
    await page.getByText("Sent when it has finished: !rm -rf x").waitFor();
    assert.equal(world.mock.typed.at(-1).as_is, true);
    await page.getByRole("button", { name: "Take it back" }).click();
    await page.getByText("Sent when it has finished").waitFor({ state: "detached" });
    session.instructions.unsent = { text: "go on", why: "session ended" };
    world.mock.changed();
    await page.getByText("Not sent (session ended): go on").waitFor();
    await page.getByRole("button", { name: "Put it away" }).click();
    await page.getByText("Not sent").waitFor({ state: "detached" });
  },

  async "an answer of one's own is answered and not typed"({ page, world, shot }) {
    await go(page, VIEWS.inbox);
    const prompt = await world.ask("own");
    await card(page, prompt).getByText("Deny with a reason…").click();
    await card(page, prompt).getByLabel("Reason, heard with the refusal").waitFor();
    await accessible(page, "an answer of one's own");
    await shot("own");
    let release;
    prompt.hold = new Promise((done) => { release = done; });
    await card(page, prompt).getByLabel("Your own answer, or several: 1,2").fill("1,2");
    await card(page, prompt).getByLabel("Your own answer").press("Enter");
    await card(page, prompt).getByText("answering…").waitFor();
    release();
    await ended(page, prompt, "applied");
    assert.equal(world.mock.typed.at(-1).text, "1,2");
  },

  async "a possible prompt, a password and an idle agent are told apart"({ page, world, shot }) {
    await go(page, VIEWS.inbox);
    const prompts = [await world.ask("possible"), await world.ask("password"), await world.ask("idle")];
    for (const [at, text] of ["possible prompt:", "secrets_over_channels", "Next instruction"].entries()) await card(page, prompts[at]).getByText(text).first().waitFor();
    assert.equal(await card(page, prompts[1]).locator("input").count(), 0);
    await accessible(page, "other kinds");
    await shot("kinds");
    for (const prompt of prompts) world.mock.end(prompt, "canceled");
    await ended(page, prompts[0], "canceled");
  },

  async "a notification tells a prompt that arrives out of sight"({ page, world, fresh }) {
    const other = await fresh({ permissions: ["notifications"] });
    await other.addInitScript(() => {
      window.told = [];
      window.Notification = class { static permission = "granted"; static requestPermission = async () => "granted"; constructor(title, options) { window.told.push([title, options.body]); } };
      document.hasFocus = () => false;
    });
    await other.goto(await world.link());
    await other.locator("#settings").click();
    await other.getByLabel("Notifications").check();
    await other.keyboard.press("Escape");
    const prompt = await world.ask("yes_no");
    await until(() => other.evaluate(() => window.told.length > 0), "it is told");
    assert.deepEqual(await other.evaluate(() => window.told), [["release asks yes or no", prompt.excerpt]]);
    await other.reload();
    await card(other, prompt).waitFor();
    assert.deepEqual(await other.evaluate(() => window.told), [], "what stood there already is not told again");
    await other.context().close();
    world.mock.end(prompt, "canceled");
  },

  async "a session is stopped after a question"({ page, world }) {
    const session = world.mock.session({ label: "to be stopped" });
    await go(page, VIEWS.sessions);
    const stop = page.getByRole("button", { name: "Stop to be stopped" });
    page.once("dialog", (dialog) => dialog.dismiss());
    await stop.click();
    assert.equal(session.status, "active");
    page.once("dialog", (dialog) => dialog.accept());
    await stop.click();
    await page.locator(`[data-key="${session.id}"]`).getByText("terminated").waitFor();
  },

  async "history and audit are searched and sifted, and a broken chain is told"({ page, world }) {
    await go(page, VIEWS.history);
    await page.getByLabel("Any outcome").selectOption("prompt changed");
    await page.getByText("1 found.").waitFor();
    await page.getByLabel("Any outcome").selectOption("");
    await page.getByLabel("Search").fill("npm ci");
    await page.getByText("1 found.").waitFor();
    await page.locator("summary", { hasText: "Allow command" }).click();
    await page.locator(".past .dialog").waitFor();
    world.mock.isWhole = false;
    await go(page, VIEWS.audit);
    await page.locator(".verdict.bad").getByText("Broken.").waitFor();
    world.mock.isWhole = true;
    await page.getByRole("button", { name: "Check again" }).click();
    await page.locator(".verdict.good").waitFor();
    await page.getByLabel("Any event").selectOption("SESSION_START");
    await page.locator("li.record").first().getByText("session start").waitFor();
  },

  async "a login that was taken back ends in the way to get one"({ world, fresh }) {
    const other = await fresh();
    await other.goto(await world.link());
    await other.getByRole("heading", { name: "Inbox" }).waitFor();
    const cookie = (await other.context().cookies())[0].value;
    world.mock.logins.delete(cookie);
    for (const stream of world.mock.streams) stream.end();
    await other.getByRole("heading", { name: "Not signed in" }).waitFor();
    await other.context().close();
  },
};
