// The paths of an operator, walked in a browser on a real relay: find the issue, read the reason, mend, put back with care, watch it arrive.
//
//   npm ci && node operator.mjs        REDELIVER names the program, CHROMIUM the browser
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { browse, examine, open, run, test } from "./desk.mjs";

const desk = await open(
  `[destinations.billing]
type = "log"
expects = "json"
schema = "order.schema.json"
lane = "park"
[destinations.email]
type = "log"
`,
  { "order.schema.json": JSON.stringify({ type: "object", required: ["total"], properties: { order: { type: "integer" } } }) },
);
const browser = await browse();
const page = await browser.page();
const serious = [];
/** Goes there, and looks at what is shown with the eyes of somebody who cannot see it. */
const visit = async (path) => {
  await page.goto(desk.url + path);
  serious.push(...(await examine(page)));
};
const dead = (body) => body.items.filter((message) => message.status === "dead_lettered").length;

// Twelve orders lack their total; a lane has one of those at its head and two sound ones behind it; two more are for nobody.
const broken = [];
for (let order = 1; order <= 12; order++) broken.push(await desk.send({ destination: "billing", json: { order } }));
const head = await desk.send({ destination: "billing", key: "customer-7", json: { order: 70 } });
for (const order of [71, 72]) await desk.send({ destination: "billing", key: "customer-7", json: { order, total: "9.50" } });
const strays = [await desk.send({ destination: "nowhere", json: { a: 1 } }), await desk.send({ destination: "nowhere", json: { a: 2 } })];
const markup = `<script>window.ran = 1</script><img src=x onerror="window.ran = 1">`;
const hostile = await desk.send({ destination: markup, key: `"'><b>`, payload: `${markup}\u0000\u001b[2J`.replace("\u0000", "") });
await desk.until("/api/v1/messages?status=dead_lettered&limit=200", (body) => dead(body) === 16);

test("the issue is found from the first page, and its reason is read", async () => {
  await visit("/");
  await page.getByRole("link", { name: "All issues" }).click();
  const issue = page.getByRole("row", { name: /total/ });
  await issue.getByText("13", { exact: true }).waitFor();
  await issue.getByRole("link").first().click();
  await page.getByRole("heading", { level: 1, name: /total/ }).waitFor();
  await page.getByText("schema_violation").first().waitFor();
  serious.push(...(await examine(page)));
});

test("one is mended with a look at the difference, put back, and arrives while one watches", async () => {
  await visit(`/messages/${broken[0]}`);
  await page.getByText("was quarantined").waitFor();
  await page.getByRole("link", { name: "Edit the payload" }).click();
  await page.getByLabel("Payload").fill('{"order": 1, "total": "12.50"}');
  await page.getByLabel("Why").fill("the total was missing");
  await page.getByRole("button", { name: "Show what would change" }).click();
  const difference = page.getByLabel("Difference");
  assert.match(await difference.innerText(), /\+.*"total": "12\.50"/);
  serious.push(...(await examine(page)));
  await page.getByRole("button", { name: "Save only" }).click();
  await page.getByText("How it was changed since it was inserted").waitFor();
  await page.getByRole("button", { name: "Redrive" }).click();
  // Nobody reloads: the page follows by itself.
  await page.getByText("arrived at billing").waitFor();
  const { body } = await desk.call("GET", `/api/v1/messages/${broken[0]}`);
  assert.equal(JSON.parse(body.payload).total, "12.50");
});

test("many are patched with a preview, what somebody changed meanwhile is left alone, and a job with a canary puts them back", async () => {
  await visit("/issues");
  await page.getByRole("row", { name: /total/ }).getByRole("link").first().click();
  await page.getByRole("link", { name: "Patch all…" }).click();
  await page.getByRole("textbox", { name: "Patch" }).fill('{"total": "1.00"}');
  await page.getByRole("button", { name: "Show what would change" }).click();
  await page.getByLabel("Difference").first().waitFor();
  serious.push(...(await examine(page)));
  await desk.call("PATCH", `/api/v1/messages/${broken[11]}`, { json: { order: 12, total: "7.00" }, who: "eve" });
  await page.getByRole("button", { name: "Patch 12" }).click();
  await page.getByRole("heading", { level: 1, name: "11 dead letters patched" }).waitFor();
  await page.getByText('eve did "edit" at').waitFor();
  serious.push(...(await examine(page)));
  await desk.until(`/api/v1/messages/${broken[5]}`, (body) => body.payload.includes("1.00"));
  await visit("/issues");
  await page.getByRole("row", { name: /total/ }).getByRole("link").first().click();
  await page.getByRole("link", { name: "Redrive all…" }).click();
  await page.getByLabel("Canary").fill("3");
  await page.getByLabel("Seconds between").fill("0");
  serious.push(...(await examine(page)));
  await page.getByRole("button", { name: /Redrive 12/ }).click();
  await page.getByRole("heading", { level: 1, name: /Job/ }).waitFor();
  await page.getByText(/^.?\s*done$/i).first().waitFor({ timeout: 60_000 });
  serious.push(...(await examine(page)));
  for (const number of broken) await desk.until(`/api/v1/messages/${number}`, (body) => body.status === "sent");
});

test("a lane that was parked goes on once its head is put back, in order", async () => {
  // The job above let the head out: both behind it follow.
  await desk.until("/api/v1/messages?key=customer-7&status=sent", (body) => body.items.length === 3);
  const { body } = await desk.call("GET", "/api/v1/messages?key=customer-7&status=sent");
  const sent = body.items.map((message) => message.sent_at);
  assert.deepEqual([...sent].sort(), sent);
  // Another one stands still, is seen there, and is let go by giving its head up.
  const stands = await desk.send({ destination: "billing", key: "customer-8", json: { order: 80 } });
  const behind = await desk.send({ destination: "billing", key: "customer-8", json: { order: 81, total: "1.00" } });
  await desk.until(`/api/v1/messages/${behind}`, (body) => body.status === "parked");
  await visit("/lanes");
  const lane = page.getByRole("row", { name: /customer-8/ });
  await lane.getByRole("link", { name: String(stands) }).click();
  await page.getByText("Discard…").click();
  await page.getByLabel("Why it is given up").fill("a test order");
  await page.getByRole("button", { name: "Discard it" }).click();
  await desk.until(`/api/v1/messages/${behind}`, (body) => body.status === "sent");
  await visit("/lanes");
  await page.getByText("No lane stands").waitFor();
});

test("a lane is let go on without its head, and another one is parked by hand", async () => {
  const stands = await desk.send({ destination: "billing", key: "customer-9", json: { order: 90 } });
  const behind = await desk.send({ destination: "billing", key: "customer-9", json: { order: 91, total: "1.00" } });
  await desk.until(`/api/v1/messages/${behind}`, (body) => body.status === "parked");
  await visit("/lanes");
  const resumed = page.getByRole("row", { name: /customer-9/ });
  await resumed.getByLabel("Resume customer-9 to billing").click();
  await resumed.getByText(`goes out without it`).waitFor();
  await resumed.getByLabel("Why").fill("the rest cannot wait");
  serious.push(...(await examine(page)));
  await resumed.getByRole("button", { name: "Let it go on" }).click();
  await page.getByText("The lane goes on").waitFor();
  await desk.until(`/api/v1/messages/${behind}`, (body) => body.status === "sent");
  const { body: left } = await desk.call("GET", `/api/v1/messages/${stands}`);
  assert.deepEqual([left.status, left.gap], ["dead_lettered", true]);

  const kept = await desk.send({ destination: "email", key: "customer-10", json: 1, not_before: "2100-01-01T00:00:00Z" });
  await visit("/lanes");
  const form = page.locator("form[action='/lanes/park']");
  await form.getByLabel("Destination").fill("email");
  await form.getByLabel("Key").fill("customer-10");
  await form.getByLabel("Why").fill("their shop is being moved");
  await form.getByRole("button", { name: "Park it" }).click();
  const lane = page.getByRole("row", { name: /customer-10.*parked by hand.*their shop is being moved/ });
  await lane.waitFor();
  serious.push(...(await examine(page)));
  const { body: parked } = await desk.call("GET", `/api/v1/messages/${kept}`);
  assert.equal(parked.status, "parked");
  await visit(`/messages/${kept}`);
  await page.getByText("parked its lane").waitFor();
  await visit("/lanes");
  await lane.getByText("Resume…").click();
  await lane.getByRole("button", { name: "Let it go on" }).click();
  await page.getByText("The lane goes on").waitFor();
  const { body: goes } = await desk.call("GET", `/api/v1/messages/${kept}`);
  assert.equal(goes.status, "pending");
});

test("a dead letter is given up with a reason, once, and the audit trail tells who and why", async () => {
  await visit(`/messages/${strays[0]}`);
  const other = await page.context().newPage();
  await other.goto(`${desk.url}/messages/${strays[0]}`);
  await page.getByText("Discard…").click();
  await page.getByLabel("Your name").last().fill("Grace");
  await page.getByLabel("Why it is given up").fill("nobody needs it");
  await page.getByRole("button", { name: "Discard it" }).dblclick();
  await desk.until(`/api/v1/messages/${strays[0]}`, (body) => body.status === "discarded");
  // Somebody else still has the page of before.
  await other.getByRole("button", { name: "Redrive" }).click();
  await other.getByRole("heading", { name: "Nothing was done" }).waitFor();
  await other.getByText("nobody needs it").waitFor();
  await other.close();
  const { body } = await desk.call("GET", `/api/v1/messages/${strays[0]}`);
  assert.deepEqual(body.audit.map((act) => [act.action, act.who]), [["discard", "Grace"]]);
  await visit("/audit");
  await page.getByRole("row", { name: /Grace.*nobody needs it/ }).waitFor();
});

test("a job that stopped goes on with a reason, and another one gives up what is left", async () => {
  for (const order of [1, 2]) await desk.send({ destination: "nobody", json: { order } });
  const all = "/api/v1/messages?destination=nobody&status=dead_lettered";
  await desk.until(all, (body) => body.items.length === 2);
  const { body: made } = await desk.call("POST", "/api/v1/jobs", { filter: { destination: "nobody" }, canary: 1, interval_ms: 0 });
  // One outcome is enough to judge a canary of one.
  await desk.until(`/api/v1/jobs/${made.job}`, (body) => body.state === "stopped");
  await visit(`/jobs/${made.job}`);
  await page.getByRole("heading", { name: "Let it go on" }).waitFor();
  await page.getByLabel("Why").fill("they say it is mended");
  await page.getByRole("button", { name: "Go on" }).click();
  const again = await desk.until(`/api/v1/jobs/${made.job}`, (body) => body.state === "stopped" && body.released === 2);
  assert.equal(again.excused, 1);
  await desk.until(all, (body) => body.items.length === 2);
  await visit("/letters/discard?status=dead_lettered&to=nobody");
  await page.getByLabel("Why").fill("nobody is there");
  await page.getByRole("button", { name: "Discard 2" }).click();
  await page.getByRole("heading", { level: 1, name: /discard/ }).waitFor();
  serious.push(...(await examine(page)));
  await desk.until("/api/v1/messages?destination=nobody&status=discarded", (body) => body.items.length === 2);
});

test("a destination is paused, takes nothing, and goes on", async () => {
  await visit("/destinations");
  await page.getByRole("link", { name: "email" }).first().click();
  await page.getByLabel("Why").fill("maintenance");
  await page.getByRole("button", { name: "Pause email" }).click();
  await page.getByText("maintenance").first().waitFor();
  serious.push(...(await examine(page)));
  const { body } = await desk.call("GET", "/api/v1/destinations/email");
  assert.equal(body.state, "paused");
  // A relay learns of it with its next beat, and has worked by it when there is another.
  for (let since = body.hold.since, beats = 0; beats < 2; beats++) {
    const { items } = await desk.until("/api/v1/workers", (told) => told.items.every((worker) => worker.seen_at > since));
    since = items.map((worker) => worker.seen_at).sort().at(-1);
  }
  const held = await desk.send({ destination: "email", json: 1 });
  // One that came later arrives: the relay has seen both.
  const other = await desk.send({ destination: "billing", json: { order: 100, total: "1.00" } });
  await desk.until(`/api/v1/messages/${other}`, (message) => message.status === "sent");
  const { body: waiting } = await desk.call("GET", `/api/v1/messages/${held}`);
  assert.equal(waiting.attempts, 0);
  assert.notEqual(waiting.status, "sent");
  await page.getByRole("button", { name: "Resume email" }).click();
  await desk.until(`/api/v1/messages/${held}`, (message) => message.status === "sent");
});

test("a message is found by anything", async () => {
  const seek = async (words) => {
    await visit("/messages");
    await page.getByRole("searchbox", { name: "Search", exact: true }).last().fill(words);
    await page.keyboard.press("Enter");
  };
  for (const [words, number] of [["customer-7", head], ['"a":2', strays[1]], ["nowhere", strays[1]]]) {
    await seek(words);
    await page.getByRole("link", { name: String(number), exact: true }).first().waitFor();
    assert.match(page.url(), /[?&]q=/);
  }
  // What names one message leads to it.
  const { body } = await desk.call("GET", `/api/v1/messages/${head}`);
  for (const words of [String(head), body.id]) {
    await seek(words);
    await page.getByRole("heading", { level: 1, name: `Message ${head}` }).waitFor();
  }
});

test("a search for what is rare goes on by itself until everything was looked at", async () => {
  const many = await open(`[destinations.late]\ntype = "log"\n`);
  const fill = `import sqlite3
outbox = sqlite3.connect("redeliver.db", timeout=60)
outbox.execute("""WITH RECURSIVE counted (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < 400000)
  INSERT INTO redeliver_outbox (destination, payload, next_attempt_at)
  SELECT 'late', CASE n WHEN 7 THEN '{"a":"needle"}' ELSE '{"order":' || n || ',"note":"as long as an ordinary order may be"}' END, 4102444800000 FROM counted""")
outbox.commit()`;
  execFileSync("python3", ["-c", fill], { cwd: many.folder });
  await page.goto(`${many.url}/messages?q=needle`);
  await page.getByRole("link", { name: "7", exact: true }).waitFor();
  await page.goto(`${many.url}/messages?q=there-is-none`);
  await page.getByText("Nothing matches").waitFor();
  assert.equal(await page.getByText("Looking further").count(), 0);
  await many.end();
});

test("markup and control characters are shown and do nothing", async () => {
  for (const path of ["/", "/messages", `/messages/${hostile}`, "/issues", "/destinations", `/destinations/${encodeURIComponent(markup)}`, "/lanes", "/audit"]) {
    await visit(path);
    assert.equal(await page.evaluate(() => window.ran), undefined, path);
  }
  await page.goto(`${desk.url}/messages/${hostile}`);
  assert.match(await page.locator("pre.payload").innerText(), /<script>window\.ran = 1<\/script>/);
});

test("both themes, kept", async () => {
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await visit("/");
  await page.getByRole("button", { name: "Dark" }).last().click();
  await page.waitForSelector("html[data-theme=dark]");
  const dark = await background();
  serious.push(...(await examine(page)));
  await visit("/destinations");
  assert.equal(await background(), dark);
  await page.getByRole("button", { name: "Light" }).last().click();
  await page.waitForSelector("html[data-theme=light]");
  assert.notEqual(await background(), dark);
});

test("the keyboard alone is enough", async () => {
  const letter = await desk.send({ destination: "nowhere", json: { by: "keyboard" } });
  await desk.until(`/api/v1/messages/${letter}`, (body) => body.status === "dead_lettered");
  await visit("/");
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to the content");
  await page.keyboard.press("?");
  await page.getByRole("dialog").waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("g");
  await page.keyboard.press("m");
  await page.waitForURL(/\/messages/);
  await page.keyboard.press("/");
  await page.keyboard.type(String(letter));
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: `Message ${letter}` }).waitFor();
  const reach = async (name) => {
    for (let presses = 0; presses < 80; presses++) {
      const found = await page.evaluate((text) => document.activeElement?.textContent?.trim() === text, name);
      if (found) return;
      await page.keyboard.press("Tab");
    }
    throw new Error(`${name} cannot be reached by the keyboard`);
  };
  await reach("Discard…");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Tab");
  await page.keyboard.type("Ada");
  await page.keyboard.press("Tab");
  await page.keyboard.type("by the keyboard");
  await page.keyboard.press("Enter");
  await desk.until(`/api/v1/messages/${letter}`, (body) => body.status === "discarded");
});

test("every page is whole on a phone", async () => {
  const phone = await browser.page({ viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true });
  for (const path of ["/", "/destinations", "/destinations/billing", "/messages", `/messages/${broken[0]}`, "/issues", "/lanes", "/jobs", "/workers", "/storage", "/audit"]) {
    await phone.goto(desk.url + path);
    const wide = await phone.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.ok(wide <= 0, `${path} is ${wide} pixels too wide`);
    serious.push(...(await examine(phone)));
  }
  await phone.goto(desk.url);
  await phone.locator("summary", { hasText: "Menu" }).click();
  await phone.getByRole("navigation", { name: "Pages, in the menu" }).getByRole("link", { name: "Lanes" }).click();
  await phone.waitForURL(/\/lanes/);
  await phone.context().close();
});

test("who may only look is shown no act", async () => {
  const guarded = await open(`[server.tokens]\nviewer = { secret = "viewer-0123456789", role = "read" }\noperator = { secret = "operator-0123456789", role = "operate" }\n`);
  try {
    const message = { destination: "nowhere", json: 1 };
    await guarded.call("POST", "/api/v1/messages", message, { authorization: "Bearer operator-0123456789" });
    const viewer = await browser.page();
    await viewer.goto(`${guarded.url}/messages/1`);
    await viewer.waitForURL(/\/login/);
    await viewer.getByLabel("Token").fill("wrong");
    await viewer.getByRole("button", { name: "Sign in" }).click();
    await viewer.getByRole("alert").filter({ visible: true }).waitFor();
    await viewer.getByLabel("Token").fill("viewer-0123456789");
    await viewer.getByRole("button", { name: "Sign in" }).click();
    // To the page that was asked for, not to the first one.
    await viewer.getByRole("heading", { level: 1, name: "Message 1" }).waitFor();
    serious.push(...(await examine(viewer)));
    await viewer.getByText("was quarantined").waitFor();
    assert.equal(await viewer.getByRole("button", { name: "Redrive" }).count(), 0);
    assert.equal((await viewer.request.post(`${guarded.url}/messages/1/redrive`, { form: {} })).status(), 403);
    await viewer.context().close();
  } finally {
    await guarded.end();
  }
});

test("nothing was complained about, and axe finds nothing serious", async () => {
  assert.deepEqual([...new Set(serious)], []);
  assert.deepEqual(browser.complaints, []);
});

await run(async () => {
  await browser.end();
  await desk.end();
});
