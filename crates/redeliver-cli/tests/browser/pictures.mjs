// Takes pictures of every page of a running dashboard, in light, in dark and on a phone, and says what axe finds in each.
//
//   npm ci && node pictures.mjs http://127.0.0.1:8420 ../../../../docs/images      scripts/pictures does it with a demo
//
// A browser is taken from CHROMIUM, or from /usr/bin/chromium.
import { readFileSync, mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { chromium } from "playwright-core";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const [site = "http://127.0.0.1:8420", folder = "pictures", only = ""] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});

const looks = [
  { name: "", options: { viewport: { width: 1280, height: 800 }, colorScheme: "light" } },
  { name: "-dark", options: { viewport: { width: 1280, height: 800 }, colorScheme: "dark" } },
  { name: "-phone", options: { viewport: { width: 390, height: 844 }, colorScheme: "light", isMobile: true, hasTouch: true } },
];

/** The address of the first link that matches on a page, so that pictures are of what is there. */
async function first(page, path, selector) {
  await page.goto(site + path);
  const link = page.locator(selector).first();
  // What is counted for the first time comes a moment later.
  await link.waitFor({ timeout: 5000 }).catch(() => {});
  return (await link.count()) ? await link.getAttribute("href") : null;
}

async function addresses() {
  const page = await browser.newPage();
  const issue = await first(page, "/issues", ".rows tbody a");
  const letter = await first(page, "/messages?status=dead_lettered", ".rows tbody th a");
  const pages = {
    overview: "/",
    destinations: "/destinations",
    destination: await first(page, "/destinations", ".rows tbody th a"),
    messages: "/messages",
    message: await first(page, "/messages?status=failed", ".rows tbody th a"),
    "dead-letters": "/issues",
    issue,
    letter,
    edit: letter && `${letter}/edit`,
    redrive: "/letters/redrive?status=dead_lettered",
    patch: issue && `/letters/patch?status=dead_lettered&issue=${issue.split("/").pop()}`,
    lanes: "/lanes",
    jobs: "/jobs",
    job: await first(page, "/jobs", ".rows tbody a"),
    workers: "/workers",
    storage: "/storage",
    health: "/storage/health",
    audit: "/audit",
  };
  await page.close();
  return Object.entries(pages).filter(([name, path]) => path && (!only || only.split(",").includes(name)));
}

let found = 0;
for (const [name, path] of await addresses()) {
  for (const look of looks) {
    const context = await browser.newContext(look.options);
    const page = await context.newPage();
    const said = [];
    page.on("console", (message) => message.type() === "error" && said.push(message.text()));
    page.on("pageerror", (error) => said.push(String(error)));
    await page.goto(site + path);
    // A chart is there once its script has drawn it.
    for (const chart of await page.locator("[data-chart]").all()) await chart.locator("canvas").waitFor({ timeout: 5000 }).catch(() => {});
    // What is counted for the first time comes a moment later.
    await page.locator("[data-soon]").first().waitFor({ state: "detached", timeout: 6000 }).catch(() => {});
    await page.screenshot({ path: join(folder, `dashboard-${name}${look.name}.png`), fullPage: Boolean(process.env.FULL) });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    // The policy forbids scripts in the page; this one comes from the tool.
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => globalThis.axe.run());
    for (const violation of violations) said.push(`axe ${violation.impact}: ${violation.id}: ${violation.nodes[0].html.slice(0, 160)} (${violation.nodes.length})`);
    if (wide > 0) said.push(`the page is ${wide} pixels too wide`);
    for (const what of said) console.log(`${name}${look.name}: ${what}`);
    found += said.length;
    await context.close();
  }
}
await browser.close();
console.log(found ? `${found} found` : "nothing found");
process.exitCode = found ? 1 : 0;
