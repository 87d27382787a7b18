#!/usr/bin/env bash
# White space in XML: Oxigraph trims literals in SPARQL results that it reads; its RDF/XML loses carriage returns elsewhere.
#
# Guess:   a literal comes through SPARQL's XML results and through RDF/XML as it is: what XML would change is escaped by the
#          writer, and the reader changes nothing else.
# Seen:    pyoxigraph 0.5.13 reads <literal> a </literal> as "a"; rdflib 7.6.0 as " a ". pyoxigraph writes "a\r\nb" to RDF/XML with a bare
#          carriage return, of which each XML parser makes "a\nb"; it does not see that itself, since its own reader leaves line ends
#          alone: a file saved under Windows has other literals in pyoxigraph than in rdflib. rdflib writes SPARQL's XML
#          results with bare carriage returns too (its RDF/XML has &#13;).
# Matters: XML is what many endpoints answer by default. Texts with line ends from forms and from Windows come back as other literals:
#          a pattern or DELETE DATA with them matches nothing, a comparison of two copies finds each such text.
# Instead: ask for JSON results and exchange N-Quads or Turtle, which escape both; convert RDF/XML with one tool only.
# Source:  XML 1.0, section 2.11 (end-of-line handling) and 2.10 (white space in content is passed on).
# Needs:   python3 with venv.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
printf '%s\n' isodate==0.7.2 pyparsing==3.3.3 >pins
python3 -m venv v && v/bin/pip -q install -c pins 'rdflib==7.6.0' 'pyoxigraph==0.5.13'
v/bin/python - <<'END'
import io, pyoxigraph, rdflib, rdflib.query, xml.etree.ElementTree as etree

def expect(what, seen, want):
    print(what, seen)
    if seen != want:
        raise SystemExit("behaviour has changed")
def read(results):
    peer = next(iter(pyoxigraph.parse_query_results(results, format=pyoxigraph.QueryResultsFormat.XML)))["x"].value
    return peer, str(next(iter(rdflib.query.Result.parse(io.BytesIO(results), format="xml")))["x"])
def objects(document):
    peer = next(iter(pyoxigraph.parse(document, format=pyoxigraph.RdfFormat.RDF_XML))).object.value
    return peer, str(next(rdflib.Graph().parse(data=document, format="xml").objects()))

results = b'''<sparql xmlns="http://www.w3.org/2005/sparql-results#"><head><variable name="x"/></head>
<results><result><binding name="x"><literal> a </literal></binding></result></results></sparql>'''
expect("results with blanks, pyoxigraph and rdflib read:", read(results), ("a", " a "))

triple = r'<http://example.org/a> <http://example.org/p> "a\r\nb" .'
ours = pyoxigraph.serialize(pyoxigraph.parse(triple, format=pyoxigraph.RdfFormat.N_TRIPLES), format=pyoxigraph.RdfFormat.RDF_XML)
expect("RDF/XML of pyoxigraph, pyoxigraph and rdflib read:", objects(ours), ("a\r\nb", "a\nb"))
graph = rdflib.Graph().parse(data=triple, format="nt")
expect("RDF/XML of rdflib, pyoxigraph and rdflib read:", objects(graph.serialize(format="xml", encoding="utf-8")), ("a\r\nb", "a\r\nb"))
saved = b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://example.org/">\r\n<rdf:Description><e:p>a\r\nb</e:p></rdf:Description>\r\n</rdf:RDF>\r\n'
expect("RDF/XML saved under Windows, pyoxigraph and rdflib read:", objects(saved), ("a\r\nb", "a\nb"))
results = graph.query("SELECT ?x { ?s ?p ?x }").serialize(format="xml")
expect("results of rdflib, an XML parser reads:", [e.text for e in etree.fromstring(results).iter() if e.tag.endswith("literal")], ["a\nb"])
END
