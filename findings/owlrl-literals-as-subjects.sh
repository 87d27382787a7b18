#!/usr/bin/env bash
# owlrl: the closure of any graph with a literal in it is N-Triples that no store loads.
#
# Guess:   reasoning over RDF gives RDF: statements about literals that the rules make on the way are left out of the result.
# Seen:    owlrl 7.6.2 with rdflib 7.6.0: one triple with a string makes "x" owl:sameAs "x", with RDFS rules "x" rdf:type
#          rdfs:Resource; rdflib writes them to N-Triples and to Turtle, and reads its own Turtle back. pyoxigraph 0.5.13
#          refuses the file at that line. reasonable 0.4.4 has no literal as a subject.
# Matters: the usual way is to reason in Python and to load the result into a store. The load of the whole file fails, or drops lines,
#          after hours of reasoning; round trips in rdflib show nothing.
# Instead: remove them before writing: for s, p, o in list(graph): if isinstance(s, Literal): graph.remove((s, p, o)).
# Source:  RDF 1.1 Concepts, the section on triples (a subject is an IRI or a blank node).
# Needs:   python3 with venv.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
printf '%s\n' isodate==0.7.2 pyparsing==3.3.3 >pins
python3 -m venv v && v/bin/pip -q install -c pins 'rdflib==7.6.0' 'owlrl==7.6.2' 'reasonable==0.4.4' 'pyoxigraph==0.5.13'
cat >close.py <<'END'
import logging, owlrl, pyoxigraph, rdflib, reasonable
logging.disable(logging.CRITICAL)
def graph():
    return rdflib.Graph().parse(data='<http://example.org/a> <http://example.org/p> "x" .', format="nt")
def loads(closed):
    try:
        list(pyoxigraph.parse(closed.serialize(format="nt"), format=pyoxigraph.RdfFormat.N_TRIPLES))
        return "loads"
    except SyntaxError as error:
        return str(error).split(":")[1].split("(")[0].strip()
def about_literals(closed):
    return sorted(" ".join(term.n3(closed.namespace_manager) for term in triple) for triple in closed if isinstance(triple[0], rdflib.Literal))
for name in ("RDFS_Semantics", "OWLRL_Semantics"):
    closed = graph()
    owlrl.DeductiveClosure(getattr(owlrl, name)).expand(closed)
    again = rdflib.Graph().parse(data=closed.serialize(format="turtle"), format="turtle")
    print("owlrl", name, about_literals(closed), "rdflib reads it back:", len(again) == len(closed))
    print(loads(closed))
    for triple in list(closed):
        if isinstance(triple[0], rdflib.Literal):
            closed.remove(triple)
    print("without them:", loads(closed))
reasoner, closed = reasonable.PyReasoner(), rdflib.Graph()
reasoner.from_graph(graph())
for triple in reasoner.reason():
    closed.add(triple)
print("reasonable", about_literals(closed), loads(closed))
END
seen=$(v/bin/python -W ignore close.py)
echo "$seen"
want=$(cat <<'END'
owlrl RDFS_Semantics ['"x" rdf:type rdfs:Resource'] rdflib reads it back: True
The subject of a triple must be an IRI or a blank node
without them: loads
owlrl OWLRL_Semantics ['"x" owl:sameAs "x"'] rdflib reads it back: True
The subject of a triple must be an IRI or a blank node
without them: loads
reasonable [] loads
END
)
[ "$seen" = "$want" ] || { echo "behaviour has changed; it was:" "$want" >&2; exit 1; }
