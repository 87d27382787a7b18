// The query page. The node has the data of integration/clients/console_test.go.

import assert from "node:assert/strict";
import { Tab, send, sub, until } from "./harness.mjs";

const ex = "http://example.org/";
export const hostile = `<img src=x onerror="document.title='run'"><script>document.title='run'</script>`;

export async function testQuery(context, address) {
  await send(address, "triples", "application/n-triples", `<${ex}labelled> <http://www.w3.org/2000/01/rdf-schema#label> "A label" .\n`);
  const t = await Tab.at(context, address);
  const { page } = t;
  const cell = (row, column) => page.locator(`tbody tr[aria-rowindex="${row + 1}"] td`).nth(column - 1);
  // running is the count of queries that run on the node.
  const running = async () => Number(/^trefoil_sparql_running (\d+)/m.exec(await (await fetch(address + "metrics")).text())[1]);

  await sub(t, "examples of the data, with counts", async () => {
    await page.locator("[data-list=classes] li").first().waitFor();
    assert.match(await page.locator("[data-list=classes]").innerText(), /example:Person\s+5,000[^]*example:Trap\s+1/);
    assert.match(await page.locator("[data-list=predicates]").innerText(), /example:age\s+5,000/);
    await page.locator("#about", { hasText: /^[\d,]+ triples on 1 machine/ }).waitFor();
    await page.locator("[data-list=classes] button").first().click();
    await t.says("50 rows");
  });
  await sub(t, "a table of a result of any size: virtual, sorted, filtered", async () => {
    await t.run(`SELECT ?s ?age { ?s <${ex}age> ?age }`);
    await t.says("5,000 rows");
    assert.ok(await page.locator("tbody tr").count() < 100, "only the rows in sight are elements");
    await page.getByRole("button", { name: "age", exact: true }).click();
    assert.equal(await cell(1, 2).innerText(), "20");
    await page.getByRole("button", { name: "age ▲" }).or(page.getByRole("button", { name: "age", exact: true })).click();
    assert.equal(await cell(1, 2).innerText(), "79");
    await page.getByRole("searchbox", { name: "Filter" }).fill("person0059");
    await page.getByText("1 of 5,000").waitFor();
    assert.equal(await cell(1, 1).innerText(), "example:person0059");
    assert.equal(await cell(1, 1).locator("a").getAttribute("href"), "#browse=" + encodeURIComponent(ex + "person0059"));
    await page.getByRole("searchbox", { name: "Filter" }).fill("");
    await page.locator(".scroll").evaluate(e => e.scrollTo(0, e.scrollHeight));
    await cell(5000, 1).waitFor();
    const handle = page.getByRole("separator", { name: "Width of column s" }), before = await handle.getAttribute("aria-valuenow");
    await handle.focus();
    await page.keyboard.press("ArrowRight");
    assert.equal(Number(await handle.getAttribute("aria-valuenow")), Number(before) + 20);
  });
  await sub(t, "more rows than the page keeps: it hangs up", async () => {
    await t.run("SELECT * { ?s ?p ?o . ?t ?q ?r }"); // a hundred million rows
    await t.says("The first 100,000 rows; there are more");
    await until("the query ended on the node", async () => await running() === 0);
  });
  await sub(t, "Stop ends the query on the node", async () => {
    await t.run("SELECT (COUNT(*) AS ?n) { ?s ?p ?o . ?t ?q ?r . ?u ?v ?w FILTER(?o != ?r) }");
    await until("the query runs on the node", async () => await running() === 1);
    await t.says(/Running … \d/);
    await t.button("Stop").click();
    await t.says("Stopped");
    await until("the query ended on the node", async () => await running() === 0);
  });
  await sub(t, "a long value is cut, and shown whole when it is wanted", async () => {
    await t.run(`SELECT ("${"x".repeat(100_000)}" AS ?x) {}`);
    await t.says("1 row");
    await page.getByRole("button", { name: "(100,000 characters)" }).click();
    assert.equal((await page.locator("dialog pre").innerText()).length, 100_000);
    await page.keyboard.press("Escape");
    await page.locator("dialog").waitFor({ state: "detached" });
  });
  await sub(t, "data is not code", async () => {
    await t.run(`SELECT ?l { ?s <${ex}label> ?l }`);
    await t.says("1 row");
    assert.equal(await cell(1, 1).innerText(), hostile);
    assert.equal(await page.title(), "trefoil");
  });
  await sub(t, "a triple term shows its terms, with links", async () => {
    await t.run(`SELECT ?t { VALUES ?t { <<( <${ex}a> <${ex}p> <<( <${ex}b> <${ex}p> "x > y"@ar--rtl )>> )>> } }`);
    await t.says("1 row");
    assert.equal(await cell(1, 1).innerText(), "<<( example:a example:p <<( example:b example:p x > y @ar--rtl )>> )>>");
    assert.equal(await cell(1, 1).locator("a").nth(2).getAttribute("href"), "#browse=" + encodeURIComponent(ex + "b"));
  });
  await sub(t, "labels in place of IRIs, if they are wanted", async () => {
    await t.run(`SELECT ?x { VALUES ?x { <${ex}labelled> <${ex}plain> } }`);
    await t.says("2 rows");
    assert.equal(await cell(1, 1).innerText(), "example:labelled");
    await page.getByLabel("Labels").check();
    await cell(1, 1).getByText("A label", { exact: true }).waitFor();
    assert.equal(await cell(2, 1).innerText(), "example:plain");
  });
  await sub(t, "an error is marked at its place", async () => {
    await t.run("SELECT * {\n  ?s ?p }");
    await page.getByRole("alert").filter({ hasText: "Line 2, column 9" }).waitFor();
    const mark = page.locator(".cm-lintRange-error, .cm-lintPoint-error");
    await mark.waitFor();
    assert.equal(await mark.innerText(), "}");
  });
  await sub(t, "undo brings back what an example replaced", async () => {
    const mine = `SELECT ?s { ?s a <${ex}Trap> } # mine`;
    await t.enter(mine);
    await t.button("The first triples").click();
    await t.says("50 rows");
    await page.locator(".cm-content").click();
    await page.keyboard.press("Control+Z");
    await page.locator(".cm-content", { hasText: "# mine" }).waitFor();
  });
  await sub(t, "the keyboard runs a query, and Tab leaves the editor", async () => {
    await t.enter("ASK { ?s ?p ?o }");
    await page.keyboard.press("Control+Enter");
    await t.says("Answered");
    assert.equal(await page.locator(".boolean").innerText(), "yes");
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate("document.activeElement.textContent"), "Run");
  });
  await sub(t, "plans mark expensive steps", async () => {
    const query = `SELECT ?s { ?s <${ex}age> ?age . ?s a ?c FILTER(?age > 30 && STRLEN(STR(?s)) > 3) } ORDER BY ?age`;
    await t.enter(query);
    await t.button("Explain").click();
    await t.says(/^The plan \(/);
    assert.match(await page.locator(".plan").innerText(), /rows expected/);
    assert.doesNotMatch(await page.locator(".plan").innerText(), / read/);
    await t.button("Explain with a run").click();
    await t.says("what a run did");
    assert.match(await page.locator(".plan").innerText(), /read[^]*ms here/);
    assert.match(await page.locator(".step.expensive").first().innerText(), /\d+% of the time/);
    await t.accessible("a plan");
  });
  await sub(t, "a graph and a chart, which are read out by name", async () => {
    await t.run(`CONSTRUCT { ?s <${ex}age> ?age } { ?s <${ex}age> ?age } LIMIT 20`);
    await t.says("20 triples");
    await t.button("Graph").click();
    await page.getByRole("img", { name: /Graph of \d+ nodes and 20 edges/ }).locator("canvas").first().waitFor();
    await t.run(`SELECT ?age (COUNT(*) AS ?n) { ?s <${ex}age> ?age } GROUP BY ?age`);
    await t.says("60 rows");
    await t.button("Chart").click();
    await page.getByRole("img", { name: /Chart of age, n/ }).locator("canvas").waitFor();
  });
  await downloads(t, address);
  await updates(t, address);
  await saved(t, address);
  await sub(t, "the page is accessible", () => t.accessible("the query page", true));
  await t.done(address);
}

// downloads come from the answer that the page has: the node must get no second query.
async function downloads(t, address) {
  let queries = 0;
  t.page.on("request", r => { if (r.url() === address + "sparql" && /^query=/.test(r.postData() ?? "") && !/timeout=5s/.test(r.postData())) queries++; });
  await sub(t, "a table as a file, in every format, without a second run", async () => {
    await t.run(`SELECT ?s ?x { VALUES (?s ?x) { (<${ex}a> 1) (UNDEF "a, \\"b\\"\\tc"@en) } }`);
    await t.says("2 rows");
    const json = JSON.parse(await t.downloads("JSON"));
    assert.deepEqual(json, { head: { vars: ["s", "x"] }, results: { bindings: [
      { s: { type: "uri", value: ex + "a" }, x: { type: "literal", value: "1", datatype: "http://www.w3.org/2001/XMLSchema#integer" } },
      { x: { type: "literal", value: 'a, "b"\tc', "xml:lang": "en" } }] } });
    assert.equal(await t.downloads("CSV"), `s,x\r\n${ex}a,1\r\n,"a, ""b""\tc"\r\n`);
    assert.equal(await t.downloads("TSV"), `?s\t?x\n<${ex}a>\t1\n\t"a, \\"b\\"\\tc"@en\n`);
    assert.match(await t.downloads("XML"), /<uri>http:\/\/example.org\/a<\/uri>.*<literal xml:lang="en">a, &#34;b&#34;\tc<\/literal>/s);
    assert.equal(queries, 1);
  });
  await sub(t, "triples as a file", async () => {
    queries = 0;
    await t.run(`PREFIX e: <${ex}> CONSTRUCT { e:a a e:B ; e:n 1.5 ; e:t "x\\ny" } {}`);
    await t.says("3 triples");
    assert.equal(await t.downloads("Turtle"), `@prefix e: <${ex}> .\n@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .\ne:a a e:B ;\n    e:n "1.5"^^xsd:decimal ;\n    e:t "x\\ny" .\n`);
    assert.match(await t.downloads("N-Triples"), new RegExp(`^<${ex}a> <${ex}t> "x\\\\ny" \\.$`, "m"));
    assert.equal(queries, 1);
    await t.run(`PREFIX e: <${ex}> CONSTRUCT { e:a a e:B ; e:n 1.5 ; e:t "x\\n<y>"@en ; e:to e:b, _:c . _:c e:t "plain" } {}`);
    await t.says("6 triples");
    queries = 0;
    // The node reads what the page has written.
    for (const [name, type] of [["JSON-LD", "application/ld+json"], ["RDF/XML", "application/rdf+xml"]]) {
      const graph = `http://read.example/${type}`, file = await t.downloads(name);
      await send(address, "data?graph=" + encodeURIComponent(graph), type, file, "PUT");
      const ask = `PREFIX e: <${ex}> ASK { GRAPH <${graph}> { e:a a e:B ; e:n 1.5 ; e:t "x\\n<y>"@en ; e:to e:b, ?c . ?c e:t "plain" FILTER(isBlank(?c)) } }`;
      assert.equal((await (await fetch(address + "sparql?" + new URLSearchParams({ query: ask }), { headers: { Accept: "application/sparql-results+json" } })).json()).boolean, true, file);
      assert.match(await (await fetch(address + "count?" + new URLSearchParams({ g: `<${graph}>` }))).text(), /"count":6/);
      await send(address, "data?graph=" + encodeURIComponent(graph), type, undefined, "DELETE");
    }
    assert.equal(queries, 0);
    await t.run(`CONSTRUCT { <${ex}a> <${ex}1> 1 } {}`); // no name in XML: the node has the error
    await t.says("1 triple");
    await t.button("RDF/XML").click();
    await t.page.getByRole("group", { name: "Download" }).getByRole("status").filter({ hasText: `${ex}1` }).waitFor();
    await t.run(`PREFIX e: <${ex}> CONSTRUCT { e:a a e:B } {}`);
    await t.says("1 triple");
    await t.button("Raw").click();
    assert.match(await t.page.locator("pre.raw").innerText(), /e:a a e:B/);
  });
}

async function updates(t, address) {
  const count = async () => Number(JSON.parse(await (await fetch(address + "count?s=" + encodeURIComponent(`<${ex}new>`))).text()).count);
  const text = `# SELECT is not the verb here\nPREFIX e: <${ex}>\nINSERT DATA { e:new a e:Fresh }`;
  await sub(t, "an update asks first", async () => {
    await t.run(text);
    await t.page.getByRole("dialog").waitFor();
    await t.accessible("the question");
    await t.button("Cancel").click();
    await t.page.locator("dialog").waitFor({ state: "detached" });
    assert.equal(await count(), 0);
  });
  await sub(t, "an update, and the sidebar after it", async () => {
    await t.run(text);
    await t.button("Run the update").click();
    await t.says("1 added, 0 deleted");
    assert.equal(await count(), 1);
    await t.page.locator("[data-list=classes]", { hasText: ":Fresh" }).waitFor();
  });
}

// saved queries are triples, which another user of the node sees.
async function saved(t, address) {
  const { page } = t, name = `Ages "of" all & more`, text = `SELECT ?age { ?s <${ex}age> ?age\n  FILTER(?age > 77) # "\\n"\n}`;
  const item = page.locator("[data-list=saved] li").filter({ hasText: name });
  const stored = async () => (await (await fetch(address + "sparql", { method: "POST", headers: { Accept: "application/sparql-results+json" }, body: new URLSearchParams({
    query: "SELECT ?name ?text { GRAPH <urn:trefoil:queries> { ?q a <http://spinrdf.org/sp#Command> ; <http://www.w3.org/2000/01/rdf-schema#label> ?name ; <http://spinrdf.org/sp#text> ?text } }" }) })).json())
    .results.bindings.map(row => [row.name.value, row.text.value]);
  const save = async (text, name) => {
    await t.enter(text);
    await t.button("Save …").click();
    await page.getByRole("dialog").getByLabel("Name").fill(name);
    await page.keyboard.press("Enter");
  };
  await sub(t, "a query is saved as triples, and runs again after a reload", async () => {
    await t.enter(text);
    await t.button("Save …").click();
    await t.accessible("the question for a name");
    await page.keyboard.press("Escape");
    await save(text, name);
    await page.getByText("Saved in the store.").waitFor();
    assert.deepEqual(await stored(), [[name, text]]);
    await page.evaluate(() => localStorage.clear());
    await page.goto("about:blank");
    await page.goto(address);
    await item.getByRole("button", { name, exact: true }).click();
    await t.says(/\d+ rows/);
    assert.equal(await t.text(), text);
    await page.locator(".tabs").getByRole("button", { name, exact: true }).waitFor();
  });
  await sub(t, "another text of the same name is saved after a question, and deleted after one", async () => {
    await save("ASK {}", name);
    await t.button("Cancel").click();
    assert.deepEqual(await stored(), [[name, text]]);
    await save("ASK {}", name);
    await t.button("Replace").click();
    await page.getByText("Saved in the store.").waitFor();
    assert.deepEqual(await stored(), [[name, "ASK {}"]]);
    await page.getByRole("button", { name: `Delete the query ${name}` }).click();
    await t.button("Delete").click();
    await item.waitFor({ state: "detached" });
    assert.deepEqual(await stored(), []);
  });
}

// testLinks tests addresses that name a query, tabs, and what a reload keeps.
export async function testLinks(context, address) {
  const t = await Tab.at(context, address);
  const query = "SELECT (1 + 1 AS ?two) {}";
  for (const link of ["?query=" + encodeURIComponent(query), "#query=" + encodeURIComponent(query), "#" + new URLSearchParams({ query })]) {
    await sub(t, `a link with ${link.slice(0, 7)} fills the editor and runs`, async () => {
      await t.page.goto("about:blank");
      await t.page.goto(address + link);
      await t.says("1 row");
      assert.equal(await t.page.locator("tbody td").innerText(), "2");
      assert.equal(await t.text(), query);
    });
  }
  await sub(t, "a link with an update asks first", async () => {
    await t.page.goto(address + "#query=" + encodeURIComponent("INSERT DATA { <x:s> <x:p> <x:o> }"));
    await t.page.getByRole("dialog", { name: "Change the data?" }).waitFor();
    await t.button("Cancel").click();
    assert.equal(JSON.parse(await (await fetch(address + "count?s=" + encodeURIComponent("<x:s>"))).text()).count, 0);
  });
  await sub(t, "tabs and history outlive a reload; back shows the query before", async () => {
    await t.page.goto(address);
    await t.run("ASK { <x:one> ?p ?o }");
    await t.says("Answered");
    await t.button("New query").click();
    await t.run("ASK { <x:two> ?p ?o }");
    await t.says("Answered");
    await t.page.getByRole("textbox", { name: "Name" }).fill("mine");
    await t.page.getByRole("textbox", { name: "Name" }).press("Enter");
    await t.button("mine").waitFor();
    await t.page.goto("about:blank");
    await t.page.goto(address);
    assert.match(await t.page.locator(".tabs .segments").innerText(), /Query 1\s*mine/);
    assert.match(await t.text(), /x:two/);
    await t.page.locator("summary", { hasText: "History" }).click();
    await t.page.locator(".history button", { hasText: "x:one" }).click();
    await t.says("Answered");
    assert.match(await t.text(), /x:one/);
    await t.run("SELECT (3 AS ?three) {}");
    await t.says("1 row");
    await t.page.goBack();
    await t.says("Answered");
    assert.match(await t.text(), /x:one/);
  });
  await t.done(address);
}

export async function testToken(context, address) {
  const t = await Tab.at(context, address);
  await sub(t, "a token is asked for, and a wrong one is named", async () => {
    await t.page.getByText("This node needs its token.").waitFor();
    await t.page.getByLabel("Token").fill("wrong");
    await t.button("Use it").click();
    await t.page.getByText("The token is wrong for this request: this node wants a user's name and password").waitFor();
    await t.accessible("the question for a token");
    await t.page.getByLabel("Token").fill("sesame");
    await t.page.getByLabel("Token").press("Enter");
    await t.page.locator("[data-list=classes] li").first().waitFor();
    await t.run("ASK { ?s ?p ?o }");
    await t.says("Answered");
    assert.equal(await t.page.locator(".token").count(), 0);
  });
  await t.done(address);
  // A user who may read only.
  const guest = await Tab.at(context, address), item = guest.page.locator("[data-list=saved] li").filter({ hasText: "mine" });
  await sub(guest, "a query stays in the browser if the user may not write", async () => {
    await guest.page.getByLabel("Token").fill("guest:look");
    await guest.page.keyboard.press("Enter");
    await guest.enter("ASK { ?s ?p ?o }");
    await guest.button("Save …").click();
    await guest.page.getByRole("dialog").getByLabel("Name").fill("mine");
    await guest.page.keyboard.press("Enter");
    await guest.page.getByText("Kept in this browser, because the node refused: this needs the role write").waitFor();
    await guest.page.reload();
    await item.getByText("in this browser").waitFor();
    await item.getByRole("button", { name: "mine", exact: true }).click();
    await guest.says("Answered");
    await guest.page.getByRole("button", { name: "Delete the query mine" }).click();
    await guest.button("Delete").click();
    await item.waitFor({ state: "detached" });
  });
  await guest.done(address);
}
