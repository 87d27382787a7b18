// Tests the console in headless Chromium: node main.mjs ADDRESS ADDRESS-WITH-TOKEN

import { open } from "./harness.mjs";
import { testLinks, testQuery, testToken } from "./query.mjs";

const [, , address, guarded] = process.argv;
const { context, close } = await open();
try {
  await testQuery(context, address);
  await testLinks(context, address);
  await testToken(context, guarded);
  console.log("done");
} catch {
  process.exitCode = 1; // the report is printed already
} finally {
  await close();
}
