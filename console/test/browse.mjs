// The pages of resources.

import assert from "node:assert/strict";
import { Tab, send, sub, until } from "./harness.mjs";

const ex = "http://example.org/", iri = name => `<${ex}${name}>`;

export async function testBrowse(context, address) {
  await send(address, "triples", "text/turtle", `@prefix : <${ex}> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
    :ann a :Person ; rdfs:label "Ann", "Anne"@fr ; :knows :bob, _:someone ; :likes ${Array.from({ length: 150 }, (_, i) => `:thing${i}`).join(", ")} .
    :bob rdfs:label "Bob" . _:someone :name "somebody" .`);
  await send(address, "annotations?" + new URLSearchParams({ s: iri("ann"), p: iri("knows"), o: iri("bob"), app: "reviews" }), "text/plain", "since school", "PUT");
  const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  await send(address, "annotations?" + new URLSearchParams({ s: iri("ann"), p: iri("knows"), o: iri("bob"), app: "photos" }), "image/png", Buffer.from(png, "base64"), "PUT");
  await send(address, "triples", "application/n-triples", `${iri("ann")} <http://xmlns.com/foaf/0.1/depiction> <data:image/png;base64,${png}> .\n`);
  await send(address, "links/update", "application/x-ndjson", `{"op":"add","src":"${ex}ann","dst":["http://a.example/","http://b.example/"]}\n{"op":"add","src":"http://a.example/","dst":["${ex}ann"]}`);
  await send(address, "links/pagerank", "application/json", "{}");
  await until("PageRank is done", async () => (await (await fetch(address + "links/pagerank")).json()).state === "done");

  const t = await Tab.at(context, address + "#browse=" + encodeURIComponent(ex + "ann"));
  const { page } = t;
  const out = page.getByRole("region", { name: /What it says/ }), into = page.getByRole("region", { name: /What refers to it/ });
  await sub(t, "a resource: labels, triples of both directions, annotations", async () => {
    await page.getByRole("heading", { name: "Ann", exact: true }).waitFor();
    await out.getByText("Bob example:bob").waitFor();
    assert.match(await out.innerText(), /reviews text\/plain since school/);
    await out.getByRole("link", { name: "example:thing0" }).waitFor();
    assert.ok(await out.locator("tbody tr").count() === 100);
    await out.getByRole("button", { name: "More" }).click();
    await until("all is there", async () => await out.locator("tbody tr").count() > 150);
    assert.equal(await out.getByRole("button", { name: "More" }).count(), 0);
    assert.match(await out.innerText(), /Anne @fr/);
  });
  await sub(t, "images of annotations and of IRIs with data", async () => {
    for (const name of ["Annotation of photos", "Image in the data"]) {
      const image = out.getByRole("img", { name });
      await image.waitFor();
      await until(`${name} is decoded`, async () => await image.evaluate(e => e.complete && e.naturalWidth === 1));
    }
  });
  await sub(t, "its hyperlinks and its rank", async () => {
    const links = page.getByRole("region", { name: "Hyperlinks" });
    await links.getByText("Links to (2)").waitFor();
    await links.getByText("Linked from (1)").waitFor();
    assert.match(await links.innerText(), /PageRank 0\.\d+/);
    assert.equal(await links.getByRole("link", { name: "http://a.example/" }).count(), 2);
  });
  await sub(t, "every IRI is a link, and back works", async () => {
    await out.getByRole("link", { name: "example:bob" }).click();
    await page.getByRole("heading", { name: "Bob", exact: true }).waitFor();
    await into.getByText("Ann example:ann").waitFor();
    await page.goBack();
    await page.getByRole("heading", { name: "Ann", exact: true }).waitFor();
    await out.getByRole("link", { name: /^_:/ }).click();
    await out.getByText("somebody").waitFor();
    await into.getByText("example:ann").waitFor();
  });
  await sub(t, "a prefixed name finds a resource; a query links to resources", async () => {
    await page.getByRole("navigation").getByRole("link", { name: "Browse" }).click();
    await page.getByRole("link", { name: "example:Person" }).waitFor();
    await page.getByLabel("IRI or prefixed name").fill("example:bob");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Bob", exact: true }).waitFor();
    await page.getByRole("navigation").getByRole("link", { name: "Query" }).click();
    await t.run(`SELECT ?x { ${iri("ann")} ${iri("knows")} ?x FILTER(isIRI(?x)) }`);
    await page.locator("tbody").getByRole("link", { name: "example:bob" }).click();
    await page.getByRole("heading", { name: "Bob", exact: true }).waitFor();
    await page.goBack();
    await page.locator("tbody").getByRole("link", { name: "example:bob" }).waitFor(); // the answer is still there
  });
  await page.goto(address + "#browse=" + encodeURIComponent(ex + "ann"));
  await page.getByRole("region", { name: "Hyperlinks" }).waitFor();
  await sub(t, "the page of a resource is accessible", () => t.accessible("a resource", true));
  await t.done(address);
}
