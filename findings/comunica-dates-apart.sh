#!/usr/bin/env bash
# Comunica says that one second apart is PT1000S, that three hours earlier is -P1DT3H, and that a month after 31 January is in March.
#
# Guess:   an engine that subtracts dateTimes at all, and adds durations to them, has XPath's results.
# Seen:    Comunica 5.4.1: 00:00:00 minus 23:59:59 of the day before is PT1000S, half a second is PT500S, 09:00 minus 12:00 is
#          -P1DT3H. 31 January plus P1M is 3 March. Right, and so in pyoxigraph 0.5.13: PT1S, PT0.5S, -PT3H, 28 February.
#          Whole positive hours and days are right, so tests with round times pass.
# Matters: how long something took, and whether it was late, is the usual question to logs and events. A sum, a filter or a
#          chart of such values is wrong by a factor of 1000 or by a day, with a proper datatype and without an error.
# Instead: send such expressions to the store, or compute in the program from the two dateTimes.
# Source:  XPath functions, op:subtract-dateTimes; XML Schema 1.1 Datatypes, appendix E.3 (adding durations: the last day that the
#          month has). SPARQL 1.1 has no such operator: engines that offer it name XPath's.
# Needs:   node 20 with npm, python3 with venv.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv v && v/bin/pip -q install --no-deps 'pyoxigraph==0.5.13'
npm install --silent --no-audit --no-fund --prefix . --before=2026-11-20 '@comunica/query-sparql-rdfjs@5.4.1' 'n3@2.13.12' >/dev/null
cat >query.rq <<'END'
PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
SELECT ("2026-07-02T00:00:00Z"^^xsd:dateTime - "2026-07-01T23:59:59Z"^^xsd:dateTime AS ?second)
  ("2026-07-01T12:00:00.5Z"^^xsd:dateTime - "2026-07-01T12:00:00Z"^^xsd:dateTime AS ?half)
  ("2026-07-01T09:00:00Z"^^xsd:dateTime - "2026-07-01T12:00:00Z"^^xsd:dateTime AS ?earlier)
  ("2026-07-01T12:00:00Z"^^xsd:dateTime - "2026-07-01T09:00:00Z"^^xsd:dateTime AS ?later)
  ("2026-01-31T00:00:00Z"^^xsd:dateTime + "P1M"^^xsd:yearMonthDuration AS ?month) {}
END
cat >query.mjs <<'END'
import fs from 'node:fs';
import {QueryEngine} from '@comunica/query-sparql-rdfjs';
import {Store} from 'n3';
const rows = await new QueryEngine().queryBindings(fs.readFileSync('query.rq', 'utf8'), {sources: [new Store()]});
for (const row of await rows.toArray()) console.log(...['second', 'half', 'earlier', 'later', 'month'].map(name => row.get(name).value));
END
cat >query.py <<'END'
import pyoxigraph
# pyoxigraph adds months as xsd:duration only.
for row in pyoxigraph.Store().query(open("query.rq").read().replace("yearMonthDuration", "duration")):
    print(*(row[name].value for name in ("second", "half", "earlier", "later", "month")))
END
seen=$(TZ=UTC node query.mjs && v/bin/python query.py)
echo "$seen"
want='PT1000S PT500S -P1DT3H PT3H 2026-03-03T00:00:00Z
PT1S PT0.5S -PT3H PT3H 2026-02-28T00:00:00Z'
[ "$seen" = "$want" ] || { echo "behaviour has changed; it was:" "$want" >&2; exit 1; }
