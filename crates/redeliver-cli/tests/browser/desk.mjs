// A `redeliver serve` of its own, with a browser in front of it: what the tests of the dashboard stand on.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const here = dirname(fileURLToPath(import.meta.url));
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
/** The program, as the tests of the commands were built. */
const program = process.env.REDELIVER ?? join(here, "../../../../target/debug/redeliver");

/** Starts a relay with this configuration, and files beside it; `end` stops it and removes everything. */
export async function open(configuration, files = {}) {
  const folder = mkdtempSync(join(tmpdir(), "redeliver-browser-"));
  writeFileSync(join(folder, "redeliver.toml"), configuration);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const environment = { ...process.env };
  for (const name of Object.keys(environment)) if (name.startsWith("REDELIVER_")) delete environment[name];
  const relay = spawn(program, ["serve", "--json", "--listen", "127.0.0.1:0"], { cwd: folder, env: environment, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  relay.stderr.on("data", (data) => (said += data));
  const url = await new Promise((resolve, reject) => {
    createInterface({ input: relay.stdout }).on("line", (line) => {
      const told = JSON.parse(line);
      if (told.event === "listening") resolve(told.url.replace(/\/$/, ""));
    });
    relay.on("exit", (code) => reject(new Error(`the relay ended with ${code}: ${said}`)));
  });
  const call = async (method, path, body, headers = {}) => {
    const answer = await fetch(url + path, { method, headers: { "content-type": "application/json", ...headers }, body: body && JSON.stringify(body) });
    return { status: answer.status, body: await answer.json().catch(() => null) };
  };
  return {
    folder,
    url,
    call,
    async send(message) {
      const { status, body } = await call("POST", "/api/v1/messages", message);
      if (status !== 201) throw new Error(`${status}: ${JSON.stringify(body)}`);
      return body.number;
    },
    /** Waits until the API says so. */
    async until(path, reached) {
      for (let round = 0; round < 1500; round++) {
        const { body } = await call("GET", path);
        if (body && reached(body)) return body;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      throw new Error(`${path} never became what was waited for`);
    },
    async end() {
      relay.removeAllListeners("exit");
      const ended = new Promise((resolve) => relay.once("exit", resolve));
      relay.kill("SIGTERM");
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A browser whose every complaint is kept: errors on the console, scripts that fail, what the page's policy forbids. */
export async function browse() {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
  const complaints = [];
  return {
    complaints,
    async page(options = {}) {
      const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
      context.setDefaultTimeout(15_000);
      const page = await context.newPage();
      page.on("console", (message) => {
        // An answer that refuses is told there by the browser, whatever the page makes of it.
        if (message.type() === "error" && !/status of (401|403|404|409|413)/.test(message.text())) complaints.push(`${page.url()}: ${message.text()}`);
      });
      page.on("pageerror", (error) => complaints.push(`${page.url()}: ${error}`));
      page.on("dialog", (dialog) => complaints.push(`${page.url()}: a dialog: ${dialog.message()}`));
      page.on("request", (request) => {
        if (!request.url().startsWith("http://127.0.0.1") && !request.url().startsWith("data:")) complaints.push(`${page.url()} asked for ${request.url()}`);
      });
      return page;
    },
    end: () => browser.close(),
  };
}

/** What axe finds serious on the page as it is. */
export async function examine(page) {
  // The policy forbids scripts in the page; this one comes from the tool.
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  return violations
    .filter((violation) => ["serious", "critical"].includes(violation.impact))
    .map((violation) => `${page.url()}: ${violation.id}: ${violation.nodes[0].html.slice(0, 200)}`);
}

const tests = [];
/** A test; they run one after the other, in the order in which they stand. */
export const test = (name, run) => tests.push([name, run]);

/** Runs them all, and ends with a count as the other tests do. */
export async function run(end) {
  let failed = 0;
  for (const [name, go] of tests) {
    try {
      await go();
      console.log(`test ${name} ... ok`);
    } catch (error) {
      failed += 1;
      console.log(`test ${name} ... FAILED\n---- ${name} stdout ----\n${error.stack}\n`);
    }
  }
  await end();
  console.log(`\ntest result: ${failed ? "FAILED" : "ok"}. ${tests.length - failed} passed; ${failed} failed`);
  process.exitCode = failed ? 1 : 0;
}
