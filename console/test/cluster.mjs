// The machines of a cluster of three, and of a node alone.

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
    const { members, leader } = await status();
    for (const m of members) {
      const row = rows.filter({ hasText: m.address });
      assert.match(await row.innerText(), new RegExp(`${m.id}[^]*up[^]*free[^]*[\\d.]+ s`));
      assert.equal(/leader/.test(await row.innerText()), m.id === leader);
    }
    assert.match(await page.locator(".figures").first().innerText(), /More losses that the data bears\s+2/);
    await page.getByRole("region", { name: "Servers of links" }).locator("tbody tr").nth(2).waitFor();
  });
  await sub(t, "a cluster is accessible", () => t.accessible("a cluster"));
  await sub(t, "copies change after a question", async () => {
    await page.getByLabel("Copies of each triple").selectOption("2");
    await t.button("Keep 2 copies").click();
    await until("there are two copies", async () => (await status()).copies === 2);
  });
  await sub(t, "a machine leaves after a question, and the page shows it", async () => {
    const [gone] = (await status()).members.filter(m => m.address !== new URL(address).host);
    await page.getByRole("button", { name: `Let ${gone.address} leave` }).click();
    await t.button("Cancel").click();
    assert.equal((await status()).members.find(m => m.id === gone.id).state, "up");
    await page.getByRole("button", { name: `Let ${gone.address} leave` }).click();
    await t.button("Let it leave").click();
    await until("it has left", async () => await rows.count() === 2);
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
