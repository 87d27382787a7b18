#!/usr/bin/env bash
# rdflib makes one node of the blank nodes of two N-Quads or JSON-LD files.
#
# Guess:   a label such as _:b0 is local to its file, so that two files, each with its own _:b0, give two nodes in every syntax.
# Seen:    rdflib 7.6.0: two nodes from N-Triples, Turtle and TriG; one node from N-Quads, from JSON-LD, and from two
#          INSERT DATA requests. Ann and Bob become one person with two names, without a warning.
# Matters: dumps and flattened JSON-LD name their nodes _:b0, _:b1, ... each time anew. Data merged in rdflib, then sent
#          to a store, has nodes that no input had; a count of persons is too low.
# Instead: let the store load each file by itself, or read N-Quads as TriG (a superset) and JSON-LD into a Graph of its
#          own, and call skolemize() on it before the merge.
# Source:  RDF 1.1 Concepts, N-Quads (both in the section on blank nodes); SPARQL 1.1 Update, section 3.1.1.
# Needs:   python3 with venv.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
printf '%s\n' isodate==0.7.2 pyparsing==3.3.3 >pins
python3 -m venv v && v/bin/pip -q install -c pins 'rdflib==7.6.0'
v/bin/python -W ignore - <<'END'
import rdflib

line = '_:b0 <http://example.org/name> "%s" .'
document = {f: line for f in ("nt", "turtle", "trig", "nquads")}
document["json-ld"] = '{"@id": "_:b0", "http://example.org/name": "%s"}'
seen = {}
for syntax, text in document.items():
    data = rdflib.Dataset(default_union=True)
    for name in ("Ann", "Bob"):
        data.parse(data=text % name, format=syntax)
    seen[syntax] = len(set(data.subjects()))
graph = rdflib.Graph()
for name in ("Ann", "Bob"):
    graph.update("INSERT DATA { %s }" % (line % name))
seen["update"] = len(set(graph.subjects()))
print("nodes from two files:", seen)
if seen != {"nt": 2, "turtle": 2, "trig": 2, "nquads": 1, "json-ld": 1, "update": 1}:
    raise SystemExit("behaviour has changed")
# The way out holds: the same N-Quads read as TriG, and JSON-LD through graphs of their own.
merged = rdflib.Graph()
for name in ("Ann", "Bob"):
    merged += rdflib.Graph().parse(data=document["json-ld"] % name, format="json-ld").skolemize(basepath="http://example.org/" + name + "/")
if len(set(merged.subjects())) != 2:
    raise SystemExit("behaviour has changed: skolemize")
END
