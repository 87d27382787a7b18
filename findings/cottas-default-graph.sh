#!/usr/bin/env bash
# COTTAS: the N-Quads that pycottas writes of a dataset with triples in the default graph are not N-Quads.
#
# Guess:   rdf2cottas and cottas2rdf give back the quads that went in: COTTAS is an archive format for RDF datasets.
# Seen:    pycottas 1.1.0 writes the word DEFAULT where the default graph has no label: "<a> <p> "x" DEFAULT .", which its own
#          rdf2cottas refuses with a syntax error. Quads in named graphs come back right, and so does what was N-Triples.
# Matters: it shows when the archive is unpacked, perhaps years later, and loads into no store. Dumps of stores have both kinds as soon
#          as one statement stands outside of the graphs.
# Instead: give the default graph a name before packing, or take " DEFAULT ." out behind it: sed 's/ DEFAULT \.$/ ./'.
# Source:  RDF 1.1 N-Quads, section 4 (graphLabel is an IRI or a blank node).
# Needs:   python3.11 with venv.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
printf '%s\n' duckdb==1.5.6 isodate==0.7.2 numpy==2.4.6 pandas==2.3.3 pyoxigraph==0.3.18 pyparsing==3.3.3 python-dateutil==4.0.0 pytz==2026.6 \
  rdflib==7.6.0 six==1.17.0 tzdata==2026.6 >pins
python3 -m venv v && v/bin/pip -q install -c pins 'pycottas==1.1.0'
printf '%s\n' '<http://example.org/a> <http://example.org/p> "x" .' | tee triples.nt >plain.nq
printf '%s\n' '<http://example.org/a> <http://example.org/p> "y" <http://example.org/g> .' >named.nq
cat plain.nq named.nq >both.nq
cat >archive.py <<'END'
import pycottas
for name in ("triples.nt", "plain.nq", "named.nq", "both.nq"):
    pycottas.rdf2cottas(name, name + ".cottas")
    pycottas.cottas2rdf(name + ".cottas", "back-" + name)
    print(name, open("back-" + name).read(), sep="\n", end="")
try:
    pycottas.rdf2cottas("back-both.nq", "again.cottas")
except SyntaxError as error:
    print(error)
END
seen=$(v/bin/python -W ignore archive.py)
echo "$seen"
want="triples.nt
<http://example.org/a> <http://example.org/p> \"x\" .
plain.nq
<http://example.org/a> <http://example.org/p> \"x\" DEFAULT .
named.nq
<http://example.org/a> <http://example.org/p> \"y\" <http://example.org/g> .
both.nq
<http://example.org/a> <http://example.org/p> \"x\" DEFAULT .
<http://example.org/a> <http://example.org/p> \"y\" <http://example.org/g> .
unexpected character 'D' on line 1 at position 51"
[ "$seen" = "$want" ] || { echo "behaviour has changed; it was:" "$want" >&2; exit 1; }
