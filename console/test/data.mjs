// Files that are loaded, and graphs that are exported and deleted.

import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { Tab, sub, until } from "./harness.mjs";

const file = (name, text) => ({ name, mimeType: "", buffer: Buffer.from(text) });

export async function testData(context, address) {
  const count = async params => JSON.parse(await (await fetch(address + "count?" + new URLSearchParams(params))).text()).count;
  const t = await Tab.at(context, address + "#data");
  const { page } = t;
  const uploads = page.locator(".uploads li"), files = page.locator("input[type=file]");
  const graphs = page.getByRole("region", { name: "Table of graphs" });
  const row = graphs.locator("tbody tr").filter({ has: page.locator("a[title='http://data.example/g']") });
  await sub(t, "files: by choice, compressed, with what was left out", async () => {
    await files.setInputFiles([
      file("good.ttl.gz", gzipSync('@prefix : <http://data.example/> . :a :p 1, 2 ; a :Thing .')),
      file("bad.nt", '<http://data.example/a> <http://data.example/p> "three" .\n<http://data.example/a> <http://data.example/p> oops .\n'),
      file("unknown.bin", "x"),
    ]);
    await uploads.filter({ hasText: "good.ttl.gz" }).getByText("3 new").waitFor();
    const bad = uploads.filter({ hasText: "bad.nt" });
    await bad.getByText("1 left out").waitFor();
    assert.match(await bad.locator("tbody tr").innerText(), /^2\s+49\s+expected a term[^]*oops/);
    await uploads.filter({ hasText: "unknown.bin" }).getByText("Choose one above").waitFor();
    assert.equal(await count({ s: "<http://data.example/a>" }), 4);
    await page.getByRole("region", { name: "Classes" }).getByText("Thing").waitFor();
    await t.accessible("the data", true);
  });
  await sub(t, "a file that is dropped, into a graph, strictly", async () => {
    await page.getByLabel("Graph", { exact: true }).fill("http://data.example/g");
    await page.getByRole("checkbox").uncheck();
    const drop = async (name, text) => {
      const data = await page.evaluateHandle(([name, text]) => {
        const all = new DataTransfer();
        all.items.add(new File([text], name));
        return all;
      }, [name, text]);
      await page.getByTestId("drop").dispatchEvent("drop", { dataTransfer: data });
    };
    await drop("wrong.ttl", "<http://data.example/a> .");
    await uploads.filter({ hasText: "wrong.ttl" }).getByText(/Line 1, column \d+/).waitFor();
    await drop("graph.nt", "<http://data.example/b> <http://data.example/p> <http://data.example/c> .\n");
    await uploads.filter({ hasText: "graph.nt" }).getByText("1 new").waitFor();
    await row.waitFor();
    assert.equal(await count({ g: "<http://data.example/g>" }), 1);
  });
  await sub(t, "exports", async () => {
    const [ttl] = await Promise.all([page.waitForEvent("download"), row.getByRole("button", { name: /^Turtle/ }).click()]);
    assert.equal(ttl.suggestedFilename(), "graph.ttl");
    assert.match(await text(ttl), /<http:\/\/data.example\/b> <http:\/\/data.example\/p> <http:\/\/data.example\/c> \./);
    const [all] = await Promise.all([page.waitForEvent("download"), t.button("Export everything as N-Quads").click()]);
    assert.match(await text(all), /<http:\/\/data.example\/c> <http:\/\/data.example\/g> \./);
  });
  await sub(t, "a graph is deleted when the word is typed", async () => {
    await row.getByRole("button", { name: /^Delete/ }).click();
    const dialog = page.getByRole("dialog"), yes = dialog.getByRole("button", { name: "Delete", exact: true });
    assert.ok(await yes.isDisabled());
    await dialog.getByRole("textbox").fill("delete");
    await yes.click();
    await until("the graph is gone", async () => await row.count() === 0);
    assert.equal(await count({ g: "<http://data.example/g>" }), 0);
    assert.equal(await count({ s: "<http://data.example/a>" }), 4);
    await t.button("Delete everything …").click();
    await page.getByRole("dialog").getByRole("textbox").fill("delete");
    await page.keyboard.press("Enter");
    await until("all is gone", async () => await count({ g: "default" }) === 0);
  });
  await t.done(address);
}

async function text(download) {
  const parts = [];
  for await (const part of await download.createReadStream()) parts.push(part);
  return Buffer.concat(parts).toString();
}
