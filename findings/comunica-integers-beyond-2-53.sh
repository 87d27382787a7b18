#!/usr/bin/env bash
# Comunica compares and adds integers as JavaScript numbers: beyond 2^53, different integers are equal.
#
# Guess:   xsd:integer is exact in a SPARQL engine, at least for 64-bit identifiers.
# Seen:    Comunica 5.4.1: 9007199254740993 = 9007199254740992 is true, their difference is 0, FILTER(?v > 9007199254740992) drops
#          ...993, and SUM of 9007199254740992, 1 and 1 is 9007199254740992. pyoxigraph 0.5.13 is exact in all four.
# Matters: identifiers from databases, tweets and times in nanoseconds are larger. A page that queries a store through Comunica
#          joins and counts them wrongly, although both sides hold the exact digits.
# Instead: send arithmetic and comparisons to the store (SERVICE, or its endpoint itself), or compare STR() for equality.
# Source:  XML Schema 1.1 Datatypes, section 5.4: at least 16 digits for decimal and what is derived from it, and these have 16;
#          beyond its limit an implementation must not change a value silently.
# Needs:   node 20 with npm, python3 with venv.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv v && v/bin/pip -q install --no-deps 'pyoxigraph==0.5.13'
npm install --silent --no-audit --no-fund --prefix . --before=2026-11-20 '@comunica/query-sparql-rdfjs@5.4.1' 'n3@2.13.12' >/dev/null
cat >query.rq <<'END'
SELECT (9007199254740993 = 9007199254740992 AS ?equal) (9007199254740993 - 9007199254740992 AS ?difference) ?rows ?sum {
  { SELECT (COUNT(*) AS ?rows) { VALUES ?v { 9007199254740992 9007199254740993 } FILTER(?v > 9007199254740992) } }
  { SELECT (SUM(?v) AS ?sum) { VALUES ?v { 9007199254740992 1 1 } } }
}
END
cat >query.mjs <<'END'
import fs from 'node:fs';
import {QueryEngine} from '@comunica/query-sparql-rdfjs';
import {Store} from 'n3';
const rows = await new QueryEngine().queryBindings(fs.readFileSync('query.rq', 'utf8'), {sources: [new Store()]});
for (const row of await rows.toArray()) console.log(...['equal', 'difference', 'rows', 'sum'].map(name => row.get(name).value));
END
cat >query.py <<'END'
import pyoxigraph
for row in pyoxigraph.Store().query(open("query.rq").read()):
    print(*(row[name].value for name in ("equal", "difference", "rows", "sum")))
END
seen=$(node query.mjs && v/bin/python query.py)
echo "$seen"
want='true 0 0 9007199254740992
false 1 1 9007199254740994'
[ "$seen" = "$want" ] || { echo "behaviour has changed; it was:" "$want" >&2; exit 1; }
