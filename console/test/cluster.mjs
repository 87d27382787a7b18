// The machines of a cluster of three, of one that has lost a machine, and of a node alone.

import assert from "node:assert/strict";
import { Tab, send, sub, until } from "./harness.mjs";

export async function testCluster(context, address) {
  await send(address, "links/update", "application/x-ndjson", `{"op":"add","src":"http://a.example/","dst":["http://b.example/"]}`);
  const status = async () => (await fetch(address + "status")).json();
  const t = await Tab.at(context, address + "#cluster");
  const { page } = t;
  const rows = page.getByRole("region", { name: "Machines" }).locator("tbody tr");
  await sub(t, "the machines with their copies, disks and leases", async () => {
    await until("three machines are shown", async () => await rows.count() === 3);
    // A machine that stands still for seconds lets leases end, and its leader may be another one.
    await until("each has a lease, and one leads", async () => {
      const { members, leader } = await status();
      const texts = await Promise.all(members.map(m => rows.filter({ hasText: m.address }).innerText()));
      return members.every((m, i) => new RegExp(`${m.id}[^]*up[^]*free[^]*[\\d.]+ s`).test(texts[i]) && /leader/.test(texts[i]) === (m.id === leader));
    });
    assert.match(await page.locator(".figures").first().innerText(), /More losses that the data bears\s+2/);
    await page.getByRole("region", { name: "Servers of links" }).locator("tbody tr").nth(2).waitFor();
  });
  await sub(t, "the map of segments: each with its owner, by pointer and by keyboard", async () => {
    const { machines, segments, partitions } = await (await fetch(address + "segments")).json(), { members } = await status();
    const owner = i => members.find(m => m.id === machines[i].id).address;
    const slider = page.getByRole("slider", { name: "Segment" });
    await slider.focus();
    await page.keyboard.press("End");
    const last = segments.at(-1);
    const text = `Segment ${last.id}, order GSPO`, place = `partition ${last.partition} of ${owner(last.owner)}`;
    await page.locator(".segment", { hasText: text }).filter({ hasText: place }).waitFor();
    assert.match(await slider.getAttribute("aria-valuetext"), new RegExp(place));
    await page.getByRole("img", { name: /segments? that begins? in order SPO/ }).click({ position: { x: 5, y: 5 } });
    await page.locator(".segment", { hasText: `Segment ${segments[0].id}, ` }).waitFor();
    for (const [i, m] of machines.entries()) {
      const cells = page.getByRole("region", { name: "Owners" }).locator("tbody tr").filter({ hasText: owner(i) }).locator("td");
      assert.deepEqual([await cells.nth(0).innerText(), await cells.nth(1).innerText()], [String(m.segments), partitions.filter(p => p === i).length.toLocaleString("en")]);
    }
    await page.getByRole("button", { name: `Show only ${owner(0)}` }).click();
    await page.getByRole("button", { name: `Show only ${owner(0)}`, pressed: true }).waitFor();
  });
  await sub(t, "what each machine does, and its queries with a Stop at any page", async () => {
    // A query runs at another member than the one that shows the page.
    const { members } = await status(), other = members.find(m => m.address !== new URL(address).host).address;
    const activity = page.getByRole("region", { name: "Table of activity" }).locator("tbody tr");
    await until("each machine has rates", async () => {
      const texts = await activity.allInnerTexts();
      return members.every(m => texts.some(text => new RegExp(`^${m.address}\\s+[\\d.,]+\\s+\\d+\\s+[\\d.,]+\\s+0\\s[^]* MiB\\s+[\\d.]+ [KMG]?i?B$`).test(text)));
    });
    await send(address, "triples", "application/n-triples", Array.from({ length: 300 }, (_, i) => `<http://example.org/q${i}> <http://example.org/q> "${i}" .\n`).join(""));
    const text = "SELECT (COUNT(*) AS ?elsewhere) { ?s ?p ?o . ?t ?q ?r . ?u ?v ?w . ?x ?y ?z FILTER(?o != ?r) }";
    const query = fetch(`http://${other}/sparql`, { method: "POST", body: new URLSearchParams({ query: text }) }).then(r => r.status);
    await until("its machine shows the query", async () => (await activity.filter({ hasText: other }).locator("td").nth(3).innerText()) === "1");
    const operations = await Tab.at(context, address + "#operations");
    const row = operations.page.getByRole("region", { name: "Running queries", exact: true }).locator("tbody tr").filter({ hasText: text });
    await row.filter({ hasText: other }).waitFor();
    await row.getByRole("button", { name: /^Stop query/ }).click();
    assert.equal(await query, 409);
    await operations.page.getByRole("region", { name: "Slow queries", exact: true }).locator("tbody tr").filter({ hasText: text }).filter({ hasText: other }).getByText(/^409, /).waitFor();
    await operations.done(address);
  });
  await sub(t, "a cluster is accessible", () => t.accessible("a cluster", true));
  await sub(t, "copies change after a question", async () => {
    await page.getByLabel("Copies of each triple").selectOption("2");
    await t.button("Keep 2 copies").click();
    await until("there are two copies", async () => (await status()).copies === 2);
  });
  await send(address, "load", "application/n-triples", Array.from({ length: 50_000 }, (_, i) => `<http://example.org/s${i}> <http://example.org/p${i % 7}> "${i}" .\n`).join(""));
  await sub(t, "a machine leaves after a question, and the page shows the backfill and what is at risk", async () => {
    const { members } = await status(), [gone] = members.filter(m => m.address !== new URL(address).host);
    // While a machine answers a request, its backfill gets the time of --rebuild-share. Nobody reads these answers, so
    // the move lasts until they are given up.
    const unread = new AbortController();
    await Promise.all(members.map(m => fetch(`http://${m.address}/sparql`, { method: "POST", body: new URLSearchParams({ query: "SELECT * { ?s ?p ?o . ?t ?q ?r }" }), signal: unread.signal })));
    await page.getByRole("button", { name: `Let ${gone.address} leave` }).click();
    await t.button("Cancel").click();
    assert.equal((await status()).members.find(m => m.id === gone.id).state, "up");
    await page.getByRole("button", { name: `Let ${gone.address} leave` }).click();
    await t.button("Let it leave").click();
    const seen = page.waitForFunction(() => /move to other machines/.test(document.querySelector("[aria-labelledby=map]").innerText));
    const backfill = page.getByRole("region", { name: "Backfill" });
    await backfill.getByText(/[\d,]+ of about [\d,]+ rows read on \d machines?/).waitFor();
    assert.match(await backfill.innerText(), /Meanwhile the data bears the loss of one more machine\./);
    await seen;
    await t.accessible("a backfill");
    unread.abort();
    await until("it has left", async () => await rows.count() === 2);
  });
  await sub(t, "the removal of a machine is asked for after a question, and waits until it has stopped", async () => {
    const [gone] = (await status()).members.filter(m => m.address !== new URL(address).host);
    await page.getByRole("button", { name: `Remove ${gone.address}` }).click();
    await t.button("Remove it").click();
    await page.getByText(`machine ${gone.id}, to be removed, is alive: stop it, or let it leave`).waitFor();
    // It may wait for a new view first.
    await until("the removal waits until the machine has stopped", async () => /is alive/.test((await status()).waiting));
  });
  await t.done(address);
}

export async function testAlone(context, address) {
  const t = await Tab.at(context, address + "#cluster");
  await sub(t, "the machine of a node alone", async () => {
    await t.page.getByRole("heading", { name: "Machine", exact: true }).waitFor();
    await t.page.getByText("Nothing is wrong.").waitFor();
    const rows = t.page.getByRole("region", { name: "Machines" }).locator("tbody tr");
    assert.match(await rows.innerText(), new RegExp(`${new URL(address).host}[^]*up[^]*GiB free`));
    assert.equal(await t.page.getByRole("button", { name: /leave/ }).count(), 0);
  });
  await t.done(address);
}

export async function testExcluded(context, address) {
  const status = async () => (await fetch(address + "status")).json();
  await until("the third machine is excluded, and nothing is rebuilt", async () => {
    const s = await status();
    return s.excluded?.length === 1 && s.phase === "idle";
  });
  const [lost] = (await status()).excluded;
  const t = await Tab.at(context, address + "#cluster");
  const { page } = t;
  const rows = page.getByRole("region", { name: "Machines" }).locator("tbody tr");
  await sub(t, "a machine that is gone stays in sight, and the copies are those that there are", async () => {
    await rows.filter({ hasText: lost.address }).filter({ hasText: "excluded" }).filter({ hasText: "which is not heard of" }).waitFor();
    await page.getByText(`${lost.address}, which is not heard of, was excluded.`).waitFor();
    await page.getByText("Each triple has 2 of 3 copies").waitFor();
    assert.match(await page.locator(".figures").first().innerText(), /Copies of each triple\s+2 of 3/);
    assert.equal(await page.getByText("Nothing is wrong.").count(), 0);
    await t.accessible("an excluded machine", true);
  });
  await sub(t, "it is dismissed after a question", async () => {
    await page.getByRole("button", { name: `Remove ${lost.address}` }).click();
    await t.button("Remove it").click();
    await until("nothing is excluded", async () => !(await status()).excluded);
    await until("its row is gone", async () => await rows.count() === 2);
  });
  await t.done(address);
}
