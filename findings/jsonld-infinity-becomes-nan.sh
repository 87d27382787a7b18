#!/usr/bin/env bash
# jsonld.js makes NaN of the typed value "INF", and rewrites each typed double that is a string.
#
# Guess:   a JSON-LD value object with @type and a string as @value keeps the string: only JSON numbers are converted.
# Seen:    jsonld.js 9.0.0: {"@value": "INF", "@type": "xsd:double"} becomes "NaN"^^xsd:double, "-INF" too; "1.10" becomes
#          "1.1E0", and 19 digits become 16. PyLD 3.3.0 keeps INF, but writes "NAN", which no xsd:double is, for "NaN".
#          pyoxigraph 0.5.13 keeps all strings. jsonld.js itself writes "INF" in fromRDF: its own round trip gives NaN.
# Matters: a dump to JSON-LD and back turns infinite bounds into "not a number", without an error; hashes of one document
#          differ between libraries, so signatures by one do not verify by another.
# Instead: exchange such data as N-Quads or Turtle, or convert JSON-LD where typed strings are kept.
# Source:  JSON-LD 1.1 Processing Algorithms, section 8.2.2 (Object to RDF Conversion), steps 10 and 11: numbers only.
# Needs:   node 20 with npm, python3 with venv.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
printf '%s\n' cachetools==8.0.2 frozendict==2.5.1 lxml==6.1.3 >pins
python3 -m venv v && v/bin/pip -q install -c pins 'PyLD==3.3.0' 'pyoxigraph==0.5.13'
npm install --silent --no-audit --no-fund --prefix . --before=2026-11-20 'jsonld@9.0.0' 'rdf-canonize@5.0.0' >/dev/null
cat >document.json <<'END'
{"@context": {"p": {"@id": "http://example.org/p", "@type": "http://www.w3.org/2001/XMLSchema#double"}},
 "@id": "http://example.org/a", "p": ["INF", "-INF", "NaN", "1.10", "0.1234567890123456789"]}
END
cat >forms.mjs <<'END'
import fs from 'node:fs';
import jsonld from 'jsonld';
const quads = await jsonld.toRDF(JSON.parse(fs.readFileSync('document.json', 'utf8')));
console.log(quads.map(q => q.object.value).join(' '));
const infinite = '<http://example.org/a> <http://example.org/p> "INF"^^<http://www.w3.org/2001/XMLSchema#double> .\n';
const there = await jsonld.fromRDF(infinite, {format: 'application/n-quads'});
console.log((await jsonld.toRDF(there)).map(q => q.object.value).join(' '));
END
cat >forms.py <<'END'
import json, pyoxigraph
from pyld import jsonld
text = open("document.json").read()
print(*(quad["object"]["value"] for quad in jsonld.to_rdf(json.loads(text))["@default"]))
print(*(quad.object.value for quad in pyoxigraph.parse(text, format=pyoxigraph.RdfFormat.JSON_LD)))
END
seen=$(node forms.mjs && v/bin/python forms.py)
echo "$seen"
want='NaN NaN NaN 1.1E0 1.234567890123457E-1
NaN
INF -INF NAN 1.1E0 1.234567890123457E-1
INF -INF NaN 1.10 0.1234567890123456789'
[ "$seen" = "$want" ] || { echo "behaviour has changed; it was:" "$want" >&2; exit 1; }
