// A page of the console in headless Chromium, and what all of its tests check.

import { chromium } from "playwright-core";
import assert from "node:assert/strict";
import { readFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const axe = readFileSync(fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8");

// open starts the browser. CHROMIUM is its path.
export async function open() {
  const folder = mkdtempSync(join(tmpdir(), "trefoil-console-"));
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    headless: true,
    downloadsPath: folder,
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"],
  });
  return { browser, close: async () => { await browser.close(); rmSync(folder, { recursive: true, force: true }); } };
}

// newContext returns a user's own storage.
export async function newContext(browser) {
  const context = await browser.newContext();
  context.setDefaultTimeout(20_000);
  return context;
}

// Tab is a page with the errors of its scripts, what its policy forbade, and the hosts that it called.
export class Tab {
  problems = [];
  hosts = new Set();

  static async at(context, address) {
    const tab = new Tab();
    tab.page = await context.newPage();
    tab.page.on("pageerror", err => tab.problems.push(err.stack));
    tab.page.on("console", m => {
      // Answers such as 400 and 401 are part of the tests.
      if (m.type() === "error" && !/Failed to load resource/.test(m.text())) tab.problems.push(`${m.text().slice(0, 200)} (${m.location().url}:${m.location().lineNumber}:${m.location().columnNumber})`);
    });
    tab.page.on("request", r => { if (/^(https?|wss?):/.test(r.url())) tab.hosts.add(new URL(r.url()).host); });
    await tab.page.goto(address);
    return tab;
  }

  // enter puts a text into the editor, as a paste does.
  async enter(text) {
    await this.page.locator(".cm-content").click();
    await this.page.keyboard.press("Control+A");
    await this.page.locator(".cm-content").evaluate((e, text) => {
      const data = new DataTransfer();
      data.setData("text/plain", text);
      e.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
    }, text);
  }

  async run(text) {
    await this.enter(text);
    await this.button("Run").click();
  }

  button(name) { return this.page.getByRole("button", { name, exact: true }); }

  // says waits until the line below the buttons has a text.
  async says(text) { await this.page.locator("p.status").filter({ hasText: text }).waitFor(); }

  async text() { return this.page.locator(".cm-content").evaluate(e => e.cmTile?.view?.state.doc.toString() ?? e.innerText); }

  async downloads(name) {
    const [file] = await Promise.all([this.page.waitForEvent("download"), this.button(name).click()]);
    return readFileSync(await file.path(), "utf8");
  }

  // accessible fails if axe finds a violation on a phone, in light and dark; on a wide screen, too, if that is wanted.
  async accessible(what, wide = false) {
    const before = this.page.viewportSize();
    for (const [scheme, width] of [["light", 390], ["dark", 390], ...wide ? [["light", 1280], ["dark", 1280]] : []]) {
      await this.page.emulateMedia({ colorScheme: scheme });
      await this.page.setViewportSize({ width, height: 844 });
      const found = await this.page.evaluate(`${axe}; axe.run({ resultTypes: ["violations"] })`);
      assert.deepEqual(found.violations.map(v => `${v.id}: ${v.help}: ${v.nodes.map(n => n.html.slice(0, 200)).slice(0, 3).join(" | ")}`), [], `axe: ${what}, ${scheme}, ${width} wide`);
      assert.deepEqual(await this.page.evaluate(brokenWords), [], `${what}, ${width} wide: words of headings and buttons that are on two lines`);
      assert.ok(await this.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), `${what} is wider than a screen of ${width}`);
    }
    await this.page.setViewportSize(before);
    await this.page.emulateMedia({ colorScheme: "light" });
  }

  async done(address) {
    assert.deepEqual(this.problems, [], "errors of the page");
    assert.deepEqual([...this.hosts], [new URL(address).host], "hosts that the page called");
    await this.page.close();
  }
}

// brokenWords returns the first words of headings and buttons that do not fit in a line.
function brokenWords() {
  return [...document.querySelectorAll("th, button:not(.link)")].flatMap(e => {
    const text = document.createTreeWalker(e, NodeFilter.SHOW_TEXT).nextNode(), word = /\S+/.exec(text?.data ?? "");
    if (!word || word[0].length > 20) return [];
    const range = document.createRange();
    range.setStart(text, word.index);
    range.setEnd(text, word.index + word[0].length);
    return range.getClientRects().length > 1 ? [word[0]] : [];
  });
}

// sub runs a part of a test and prints its time.
export async function sub(t, name, part) {
  const begun = performance.now();
  try {
    await part();
  } catch (err) {
    console.log(`FAILED: ${name}\n${err.stack}\nproblems: ${t.problems.join("\n")}\nthe page shows:\n${(await t.page.innerText("body")).slice(0, 1500)}`);
    throw err;
  }
  console.log(`${name} (${Math.round(performance.now() - begun)} ms)`);
}

// until waits until a condition holds.
export async function until(what, condition, limit = 20_000) {
  for (const begun = Date.now(); ; await new Promise(r => setTimeout(r, 20))) {
    if (await condition()) return;
    if (Date.now() - begun > limit) assert.fail(`waited in vain: ${what}`);
  }
}

// send makes a change at a node.
export async function send(address, path, type, body, method = "POST") {
  const got = await fetch(address + path, { method, headers: { "Content-Type": type }, body });
  assert.ok(got.ok, `${path}: ${got.status} ${await got.text()}`);
}
