// The text search: its box with suggestions, its results, and what it says if there is no index.

import assert from "node:assert/strict";
import { Tab, send, sub, until } from "./harness.mjs";

const ex = "http://example.org/", title = "http://purl.org/dc/terms/title", note = "http://www.w3.org/2004/02/skos/core#note";
const hostile = `Harbours <img src=x onerror="document.title='run'"> of <b>graphs</b>`;

export async function testSearch(context, address) {
  const many = Array.from({ length: 30 }, (_, i) => `:many${i} dcterms:title "Graph number ${i}" .`).join("\n");
  await send(address, "triples", "text/turtle", `@prefix : <${ex}> . @prefix dcterms: <http://purl.org/dc/terms/> . @prefix skos: <http://www.w3.org/2004/02/skos/core#> .
    :book :about :graph ; dcterms:title "A graph store"@en ; skos:note "Graphene is no graph" . :paper dcterms:title "Graphics of a harbour"@en-GB . :image dcterms:title ${JSON.stringify(hostile)} .
    ${Array.from({ length: 8 }, (_, i) => `:copy${i} dcterms:title "Ein Speicher"@de .`).join(" ")} ${many}`);
  const t = await Tab.at(context, address + "#browse");
  const { page } = t, box = page.getByRole("combobox", { name: "Words" }), list = page.getByRole("listbox", { name: "Suggestions" });
  const option = name => list.getByRole("option", { name });
  const hits = page.locator(".hits > li"), shows = name => page.locator("p.iri").filter({ hasText: ex + name }).waitFor();
  const says = text => page.getByRole("status").filter({ hasText: text }).waitFor();

  await sub(t, "without an indexed predicate it names the command", async () => {
    await says("no predicate is indexed. The command trefoil text add PREDICATE");
    assert.equal(await box.count(), 0);
  });
  await sub(t, "an index that is being built is waited for", async () => {
    await page.route("**/text", r => r.fulfill({ json: { predicates: [{ predicate: title, complete: false }] } }));
    await page.route("**/search?*", r => r.fulfill({ status: 503, json: { error: { kind: "loading", message: "the text index is being built; try again" } } }));
    await page.goto(address + "#search=graph");
    await page.reload();
    await says("The index of dcterms:title is being built");
    await says("the text index is being built; try again");
    for (const p of [title, note]) await send(address, "text?" + new URLSearchParams({ p: `<${p}>` }), "text/plain", "", "PUT");
    await until("the predicates are indexed", async () => (await (await fetch(address + "text")).json()).predicates.every(p => p.complete));
    await page.unrouteAll({ behavior: "wait" });
    await hits.first().waitFor(); // without another key
    assert.equal(await page.getByText("being built").count(), 0);
  });
  await page.goto(address + "#browse");
  await sub(t, "suggestions: words that begin so, and subjects with their literals", async () => {
    await box.click();
    await page.keyboard.type("stores of gra"); // nothing has these words
    await says("Nothing begins so.");
    await box.fill("");
    await page.keyboard.type("harb");
    await option("harbour word").waitFor();
    await option(/Graphics of a harbour dcterms:title of example:paper/).waitFor();
    assert.equal(await option(/example:paper/).locator("mark").innerText(), "harbour");
    assert.equal(await box.getAttribute("aria-expanded"), "true");
    await says(/^\d suggestions; the arrow keys/);
    await t.accessible("suggestions");
  });
  await sub(t, "a literal is never taken for HTML", async () => {
    assert.match(await option(/example:image/).innerText(), /<img src=x onerror=.*> of <b>graphs<\/b>/);
    assert.equal(await page.locator("main img").count(), 0);
    assert.doesNotMatch(await page.title(), /run/);
  });
  await sub(t, "the keyboard completes a word, chooses a subject, and closes the list", async () => {
    await page.keyboard.press("ArrowUp"); // the last one
    assert.equal(await box.getAttribute("aria-activedescendant"), await list.getByRole("option", { selected: true }).getAttribute("id"));
    await page.keyboard.press("ArrowDown"); // the first one
    assert.equal(await list.getByRole("option").first().getAttribute("aria-selected"), "true");
    await page.keyboard.press("Enter");
    await until("the word is in the box", async () => /^harbours?$/.test(await box.inputValue()));
    await box.fill("Speich");
    await option(/example:copy2 and others/).waitFor();
    await page.keyboard.press("Escape");
    await until("the list is closed", async () => await list.count() === 0);
    assert.equal(await box.inputValue(), "Speich");
    await page.keyboard.press("ArrowDown");
    await option(/example:copy0/).waitFor();
    while (await box.getAttribute("aria-activedescendant") === null || !/copy1/.test(await list.getByRole("option", { selected: true }).innerText())) await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await shows("copy1");
    await page.goBack();
  });
  await sub(t, "a newer text ends the request of an older one", async () => {
    let open;
    const held = new Promise(done => { open = done; }), ended = page.waitForEvent("requestfailed", r => r.url().includes("q=graphe"));
    await page.route("**/search?q=graphe*", async r => { await held; await r.fulfill({ json: { hits: [], more: false } }).catch(() => {}); });
    const asked = page.waitForRequest(/q=graphe/);
    await box.fill("graphe");
    await asked;
    await box.fill("graphics");
    await ended;
    await option(/example:paper/).waitFor();
    open();
    await page.unrouteAll({ behavior: "wait" });
    assert.equal(await option(/example:paper/).count(), 1);
  });
  await sub(t, "Enter shows results with scores, snippets and subjects; more of them; back and links to them", async () => {
    await box.fill("graph");
    await page.keyboard.press("Enter");
    await says("The best 20 results");
    assert.equal(new URL(page.url()).hash, "#search=graph");
    assert.equal(await hits.count(), 20);
    assert.match(await hits.first().innerText(), /^.*graph.*\s+score \d\.\d+/i);
    await page.getByRole("button", { name: "More", exact: true }).click();
    await says(/^\d\d results/);
    assert.ok(await hits.count() > 30);
    await hits.filter({ has: page.locator("bdi", { hasText: "A graph store" }) }).getByRole("link", { name: "example:book" }).click();
    await shows("book");
    await page.goBack();
    await says("The best 20 results");
    assert.equal(await box.inputValue(), "graph");
    await t.accessible("results", true);
    await page.reload();
    await says("The best 20 results");
  });
  await sub(t, "filters: a predicate and a language, in the address", async () => {
    await page.getByLabel("Predicate").selectOption(note);
    await says("1 result");
    assert.match(await hits.innerText(), /Graphene is no graph/);
    await page.getByLabel("Predicate").selectOption("");
    await page.getByLabel("Language").fill("en");
    await page.keyboard.press("Enter");
    await says("1 result");
    assert.match(await hits.innerText(), /A graph store\s+score [\d.]+ · @en · dcterms:title/);
    assert.equal(new URL(page.url()).hash, "#search=graph&lang=en");
    await box.fill("speicher");
    await page.keyboard.press("Enter");
    await says("No literal has these words.");
    await page.goto(address + "#search=speicher&lang=de");
    await says("1 result");
    assert.equal(await hits.getByRole("link", { name: /copy/ }).count(), 5);
    await page.getByRole("button", { name: "More subjects" }).click();
    await until("all subjects", async () => await hits.getByRole("link", { name: /copy/ }).count() === 8);
  });
  await sub(t, "an error of the query names its place; the same search as a query of SPARQL", async () => {
    await box.fill('"speicher');
    await option(/example:copy0/).waitFor(); // the open quote is closed for suggestions
    await page.keyboard.press("Enter");
    await page.getByRole("alert").filter({ hasText: "the quote is not closed at byte 1" }).waitFor();
    await box.fill('"ein speicher"');
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "As a query of SPARQL" }).click();
    await page.getByRole("cell", { name: "example:copy7" }).waitFor();
  });
  await t.done(address);
}
