// Tests the console in headless Chromium: node main.mjs ALONE OTHER GUARDED MEMBER BEREFT
//
// These are the addresses of nodes: two alone, one with the token "sesame" and the user "guest", a member of a cluster of three,
// and one of a cluster that has lost the third. One lane has the first
// node for itself, because it looks at the queries that run there.

import { testBrowse } from "./browse.mjs";
import { testAlone, testCluster, testExcluded } from "./cluster.mjs";
import { testCompletion } from "./completion.mjs";
import { testData } from "./data.mjs";
import { newContext, open } from "./harness.mjs";
import { testOperations } from "./operations.mjs";
import { testLinks, testQuery, testToken } from "./query.mjs";
import { testSearch } from "./search.mjs";

const [, , alone, other, guarded, member, bereft] = process.argv;
const only = process.env.ONLY; // the name of one test
const { browser, close } = await open();
const lane = async parts => {
  for (const [test, address] of parts) {
    if (only && test.name !== only) continue;
    const context = await newContext(browser);
    await test(context, address);
    await context.close();
  }
};
try {
  await Promise.all([
    lane([[testQuery, alone], [testOperations, alone], [testData, alone]]),
    lane([[testBrowse, other], [testSearch, other], [testLinks, other], [testCompletion, other], [testAlone, other], [testToken, guarded], [testExcluded, bereft], [testCluster, member]]),
  ]);
  console.log("done");
} catch (err) {
  console.log(err.message);
  process.exitCode = 1;
} finally {
  await close();
}
