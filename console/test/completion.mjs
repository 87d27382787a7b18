// Completion from the data: in context and with counts.

import assert from "node:assert/strict";
import { Tab, send, sub } from "./harness.mjs";

export async function testCompletion(context, address) {
  // More classes than the page lists; the rarest is found by what is typed.
  const many = Array.from({ length: 2000 }, (_, i) => `[] a m:C${i} . [] a m:C${i} .`).join("\n");
  await send(address, "triples", "text/turtle", `@prefix m: <http://many.example/ns#> . @prefix foaf: <http://xmlns.com/foaf/0.1/> .\n${many}\n[] a m:Rare . [] foaf:name "x" ; foaf:nick "y" .`);
  const t = await Tab.at(context, address);
  const { page } = t;
  await page.locator("[data-list=classes] li").first().waitFor();
  const list = page.locator(".cm-tooltip-autocomplete");
  // type writes a text and returns the proposals.
  const type = async (before, word) => {
    await t.enter(before);
    await page.keyboard.type(word);
    await list.waitFor();
    return (await list.innerText()).split("\n");
  };
  await sub(t, "a predicate behind a subject, with its count, and its prefix is declared", async () => {
    assert.match((await type("SELECT * { ?s ", "foaf:n")).join(" "), /foaf:name ?1 /);
    assert.match(await list.innerText(), /foaf:nick/);
    assert.doesNotMatch(await list.innerText(), /SELECT|:C1/);
    await list.getByRole("option", { name: /foaf:nick/ }).click();
    assert.equal(await t.text(), "PREFIX foaf: <http://xmlns.com/foaf/0.1/>\nSELECT * { ?s foaf:nick");
  });
  await sub(t, "a class behind a, frequent ones first", async () => {
    const found = (await type("SELECT * { ?s a ", "Per")).join(" ");
    assert.match(found, /example:Person ?5,00\d/);
    assert.doesNotMatch(found, /foaf:name/);
  });
  await sub(t, "a rare class, which the page has not listed", async () => {
    assert.match((await type("PREFIX m: <http://many.example/ns#> SELECT * { ?s a ", "m:Ra")).join(" "), /m:Rare ?1$/);
  });
  await sub(t, "a prefix of the store is declared when a query runs", async () => {
    await t.enter('SELECT ?s { ?s a m:Rare } # foaf:no "foaf:no" <foaf:no>');
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.waitForFunction(() => document.querySelector(".cm-content").innerText.startsWith("PREFIX m: <http://many.example/ns#>\nSELECT"));
  });
  await sub(t, "keywords", async () => {
    assert.match((await type("", "SEL")).join(" "), /SELECT/);
    await list.getByRole("option", { name: "SELECT" }).click();
    assert.equal(await t.text(), "SELECT");
  });
  await sub(t, "LATERAL", async () => {
    assert.match((await type("SELECT * { ?s ?p ?o . ", "LAT")).join(" "), /LATERAL/);
  });
  await sub(t, "the proposals are accessible", async () => {
    await type("SELECT * { ?s ", "foaf:n");
    await t.accessible("the proposals");
  });
  await t.done(address);
}
