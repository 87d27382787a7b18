#!/usr/bin/env bash
# Comunica's ENCODE_FOR_URI leaves "/", "?", "#", "&" and all other reserved characters as they are.
#
# Guess:   ENCODE_FOR_URI makes one path segment of any string: what is not a letter, a digit or one of - _ . ~ is escaped.
# Seen:    Comunica 5.4.1 makes "AC/DC" of "AC/DC", and "C#" stays "C#"; it escapes only what no IRI may hold. Right is
#          AC%2FDC and C%23, as in pyoxigraph 0.5.13 and rdflib 7.6.0.
# Matters: IRI(CONCAT(base, ENCODE_FOR_URI(?name))) is how queries name things. Through Comunica the same query gives other
#          IRIs than in a store, so data of both do not join; "C" and "C#" become one resource for what cuts off fragments,
#          and a value with & adds a parameter to an address.
# Instead: let the store evaluate such expressions; in Comunica escape the reserved characters with REPLACE, "%" first.
# Source:  SPARQL 1.1 Query, section 17.4.3.11 (reserved characters are translated as by XPath's fn:encode-for-uri).
# Needs:   node 20 with npm, python3 with venv.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
printf '%s\n' isodate==0.7.2 pyparsing==3.3.3 >pins
python3 -m venv v && v/bin/pip -q install -c pins 'rdflib==7.6.0' 'pyoxigraph==0.5.13'
npm install --silent --no-audit --no-fund --prefix . --before=2026-11-20 '@comunica/query-sparql-rdfjs@5.4.1' 'n3@2.13.12' >/dev/null
cat >query.rq <<'END'
SELECT (GROUP_CONCAT(ENCODE_FOR_URI(?name)) AS ?names) { VALUES ?name { "AC/DC" "C#" "R&D" "a?b=c" "a b" } }
END
cat >query.mjs <<'END'
import fs from 'node:fs';
import {QueryEngine} from '@comunica/query-sparql-rdfjs';
import {Store} from 'n3';
const rows = await new QueryEngine().queryBindings(fs.readFileSync('query.rq', 'utf8'), {sources: [new Store()]});
for (const row of await rows.toArray()) console.log(row.get('names').value);
END
cat >query.py <<'END'
import pyoxigraph, rdflib
query = open("query.rq").read()
print(next(iter(pyoxigraph.Store().query(query)))["names"].value)
print(next(iter(rdflib.Graph().query(query)))[0])
END
seen=$(node query.mjs && v/bin/python query.py)
echo "$seen"
want='AC/DC C# R&D a?b=c a%20b
AC%2FDC C%23 R%26D a%3Fb%3Dc a%20b
AC%2FDC C%23 R%26D a%3Fb%3Dc a%20b'
[ "$seen" = "$want" ] || { echo "behaviour has changed; it was:" "$want" >&2; exit 1; }
