#!/usr/bin/env bash
# PyLD reads the numeric escapes of N-Quads as text, so its canonical hash is that of other data.
#
# Guess:   "caf\u00E9" and "café" in N-Quads are one literal, and all implementations of RDFC-1.0 give one hash for both.
# Seen:    PyLD 3.3.0 keeps the six characters \u00E9, in strings and in IRIs, and doubles the backslash on output. Its canonical
#          form differs from that of rdf-canonize 5.0.0 (jsonld.js's library), which has é.
# Matters: N-Triples of older tools, as many dumps, escape all beyond ASCII. A hash or signature made by PyLD over such a file
#          does not verify elsewhere, and data that passes through PyLD has strings that nobody wrote.
# Instead: let another parser read N-Quads and hand PyLD its output, which has no numeric escapes.
# Source:  RDF 1.1 N-Quads, section 4 (UCHAR in IRIREF and STRING_LITERAL_QUOTE); RDF Dataset Canonicalization, section 5.
# Needs:   node 20 with npm, python3 with venv.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
printf '%s\n' cachetools==8.0.2 frozendict==2.5.1 lxml==6.1.3 >pins
python3 -m venv v && v/bin/pip -q install -c pins 'PyLD==3.3.0' 'pyoxigraph==0.5.13'
npm install --silent --no-audit --no-fund --prefix . --before=2026-11-20 'rdf-canonize@5.0.0' >/dev/null
printf '%s\n' '<http://example.org/\u00E9> <http://example.org/p> "caf\u00E9" .' >data.nq
cat >canonical.mjs <<'END'
import fs from 'node:fs';
import {canonize, NQuads} from 'rdf-canonize';
process.stdout.write(await canonize(NQuads.parse(fs.readFileSync('data.nq', 'utf8')), {algorithm: 'RDFC-1.0', format: 'application/n-quads'}));
END
cat >canonical.py <<'END'
import pyoxigraph
from pyld import jsonld
text = open("data.nq").read()
def canonical(text):
    return jsonld.normalize(text, {"inputFormat": "application/n-quads", "format": "application/n-quads", "algorithm": "URDNA2015"})
print(canonical(text), end="")
# The way out: another parser first.
print(canonical(pyoxigraph.serialize(pyoxigraph.parse(text, format=pyoxigraph.RdfFormat.N_QUADS), format=pyoxigraph.RdfFormat.N_QUADS).decode()), end="")
END
seen=$(v/bin/python canonical.py && node canonical.mjs)
echo "$seen"
want='<http://example.org/\u00E9> <http://example.org/p> "caf\\u00E9" .
<http://example.org/é> <http://example.org/p> "café" .
<http://example.org/é> <http://example.org/p> "café" .'
[ "$seen" = "$want" ] || { echo "behaviour has changed; it was:" "$want" >&2; exit 1; }
