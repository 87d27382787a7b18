#!/usr/bin/env bash
# A JSON number typed xsd:decimal in a JSON-LD context becomes an ill-typed literal, by the specification.
#
# Guess:   {"price": 2.5} with "@type": "xsd:decimal" in the context is the decimal 2.5 in RDF.
# Seen:    "2.5E0"^^xsd:decimal in jsonld.js 9.0.0, PyLD 3.3.0 and pyoxigraph 0.5.13, while 2 becomes a fine "2"^^xsd:decimal. A
#          decimal has no exponent, so the price has no value: pyoxigraph's SUM is unbound, one row of a shop is enough.
#          (rdflib 7.6.0 departs from the specification and writes "2.5".)
# Matters: schema.org and GoodRelations prices are often coerced to xsd:decimal. All whole prices work, those with cents are
#          stored, found by a pattern, and missing from each filter and sum.
# Instead: write such values as strings ("price": "2.50"), which keeps the cents too, or coerce to xsd:double. In a store that has
#          them already, xsd:decimal(xsd:double(STR(?price))) mends them.
# Source:  JSON-LD 1.1 Processing Algorithms, section 8.2.2, step 10: the canonical form of xsd:double, whatever the datatype.
# Needs:   node 20 with npm, python3 with venv.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
printf '%s\n' cachetools==8.0.2 frozendict==2.5.1 lxml==6.1.3 isodate==0.7.2 pyparsing==3.3.3 >pins
python3 -m venv v && v/bin/pip -q install -c pins 'PyLD==3.3.0' 'pyoxigraph==0.5.13' 'rdflib==7.6.0'
npm install --silent --no-audit --no-fund --prefix . --before=2026-11-20 'jsonld@9.0.0' >/dev/null
cat >shop.json <<'END'
{"@context": {"price": {"@id": "http://example.org/price", "@type": "http://www.w3.org/2001/XMLSchema#decimal"}},
 "@graph": [{"@id": "http://example.org/pen", "price": 2}, {"@id": "http://example.org/ink", "price": 2.5}]}
END
cat >prices.mjs <<'END'
import fs from 'node:fs';
import jsonld from 'jsonld';
const quads = await jsonld.toRDF(JSON.parse(fs.readFileSync('shop.json', 'utf8')));
console.log('jsonld.js', quads.map(q => q.object.value).sort().join(' '));
END
cat >prices.py <<'END'
import json, pyoxigraph, rdflib
from pyld import jsonld
text = open("shop.json").read()
print("PyLD", *sorted(quad["object"]["value"] for quad in jsonld.to_rdf(json.loads(text))["@default"]))
print("rdflib", *sorted(str(o) for o in rdflib.Graph().parse(data=text, format="json-ld").objects()))
store = pyoxigraph.Store()
store.load(text, format=pyoxigraph.RdfFormat.JSON_LD)
print("pyoxigraph", *sorted(quad.object.value for quad in store))
def value(expression):
    found = next(iter(store.query("PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> SELECT (SUM(%s) AS ?x) { ?s <http://example.org/price> ?p }" % expression)))["x"]
    return found and found.value
print("SUM", value("?p"), "mended", value("xsd:decimal(xsd:double(STR(?p)))"))
END
seen=$(node prices.mjs && v/bin/python prices.py)
echo "$seen"
want='jsonld.js 2 2.5E0
PyLD 2 2.5E0
rdflib 2 2.5
pyoxigraph 2 2.5E0
SUM None mended 4.5'
[ "$seen" = "$want" ] || { echo "behaviour has changed; it was:" "$want" >&2; exit 1; }
