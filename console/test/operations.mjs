// What the node does: figures, charts, queries, subscriptions.

import { Tab, sub, until } from "./harness.mjs";

export async function testOperations(context, address) {
  const t = await Tab.at(context, address + "#operations");
  const { page } = t;
  const figure = name => page.locator(".figures div").filter({ has: page.getByText(name, { exact: true }) }).locator("dd");
  await sub(t, "a query that runs is counted", async () => {
    await until("nothing runs", async () => await figure("Queries and updates that run").innerText() === "0");
    const control = new AbortController();
    const query = fetch(address + "sparql", { method: "POST", signal: control.signal, body: new URLSearchParams({ query: "SELECT (COUNT(*) AS ?n) { ?s ?p ?o . ?t ?q ?r . ?u ?v ?w FILTER(?o != ?r) }" }) }).catch(() => {});
    await until("a query runs", async () => await figure("Queries and updates that run").innerText() === "1");
    control.abort();
    await query;
    await until("nothing runs again", async () => await figure("Queries and updates that run").innerText() === "0");
    await page.getByRole("img", { name: /Chart of Rows a second/ }).locator("canvas").waitFor();
  });
  await sub(t, "a query that runs is shown and stopped, and is then a slow one", async () => {
    const text = "SELECT (COUNT(*) AS ?stopped) { ?s ?p ?o . ?t ?q ?r . ?u ?v ?w . ?x ?y ?z FILTER(?o != ?r) }";
    const query = fetch(address + "sparql", { method: "POST", body: new URLSearchParams({ query: text }) }).then(async r => ({ status: r.status, text: await r.text() }));
    const row = page.getByRole("region", { name: "Running queries", exact: true }).locator("tbody tr").filter({ hasText: text });
    await row.filter({ hasText: /\d ms/ }).filter({ hasText: "anonymous" }).waitFor();
    await until("it has worked for some time", async () => Number((await row.locator("td").nth(1).innerText()).replace(/\D/g, "")) >= 1000);
    await t.accessible("a query that runs");
    await row.getByRole("button", { name: /^Stop query/ }).click();
    const { status, text: answer } = await query;
    if (status !== 409 || !answer.includes('"stopped"')) throw new Error(`the client got ${status} ${answer}`);
    await row.waitFor({ state: "detached" });
    await page.getByRole("region", { name: "Slow queries", exact: true }).locator("tbody tr").filter({ hasText: text }).getByText(/^409, /).waitFor();
  });
  await sub(t, "subscriptions, and their deletion after a question", async () => {
    const put = await fetch(address + "subscriptions/names?" + new URLSearchParams({ p: "<http://example.org/age>", kinds: "add" }), { method: "PUT" });
    await put.text();
    await page.reload();
    const row = page.getByRole("region", { name: "Subscriptions" }).locator("tbody tr");
    await row.filter({ hasText: "names" }).getByText("http://example.org/age").waitFor();
    await t.accessible("the operations", true);
    await page.getByRole("button", { name: "Delete names" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await row.waitFor({ state: "detached" });
  });
  await t.done(address);
}
