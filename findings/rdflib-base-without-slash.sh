#!/usr/bin/env bash
# rdflib loses a DID document without a word: it cannot resolve "#key-1" against did: or urn:uuid:.
#
# Guess:   a fragment such as #key-1 can be resolved against any base IRI, in each syntax: it is put behind it.
# Seen:    rdflib 7.6.0, base did:example:123: JSON-LD gives no triple at all and no error; RDF/XML and SPARQL's BASE keep "#p" as
#          an IRI, which is relative; Turtle is right. With a base urn:uuid:... JSON-LD inserts a slash before #p.
#          pyoxigraph 0.5.13 and jsonld.js 9.0.0 put #p behind the base.
# Matters: DID documents name their keys like this, and urn:uuid: is the base of what has no address yet (EPUB, IFC, Verifiable
#          Credentials). The load succeeds with an empty graph; or N-Triples with <#p> in it is refused by the next store.
# Instead: load such JSON-LD and RDF/XML by another parser, or write the fragments' full IRIs into the document.
# Source:  RFC 3986, section 5.2 (any base that has a scheme), which JSON-LD 1.1, RDF/XML and SPARQL name.
# Needs:   node 20 with npm, python3 with venv.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
printf '%s\n' isodate==0.7.2 pyparsing==3.3.3 >pins
python3 -m venv v && v/bin/pip -q install -c pins 'rdflib==7.6.0' 'pyoxigraph==0.5.13'
npm install --silent --no-audit --no-fund --prefix . --before=2026-11-20 'jsonld@9.0.0' >/dev/null
cat >resolve.mjs <<'END'
import jsonld from 'jsonld';
for (const base of ['did:example:123', 'urn:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6']) {
  const quads = await jsonld.toRDF({'@context': {'@base': base}, '@id': '', 'http://example.org/p': {'@id': '#p'}});
  console.log('jsonld.js', base, ...quads.map(q => q.object.value));
}
END
cat >resolve.py <<'END'
import logging, pyoxigraph, rdflib
logging.disable(logging.CRITICAL)
for base in ("did:example:123", "urn:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6"):
    documents = {
        "json-ld": '{"@context": {"@base": "%s"}, "@id": "", "http://example.org/p": {"@id": "#p"}}' % base,
        "xml": '<rdf:RDF xml:base="%s" xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://example.org/">'
               '<rdf:Description rdf:about=""><e:p rdf:resource="#p"/></rdf:Description></rdf:RDF>' % base,
        "turtle": "@base <%s> . <> <http://example.org/p> <#p> ." % base,
    }
    peers = {"json-ld": pyoxigraph.RdfFormat.JSON_LD, "xml": pyoxigraph.RdfFormat.RDF_XML, "turtle": pyoxigraph.RdfFormat.TURTLE}
    for syntax, text in documents.items():
        print("rdflib", base, syntax, *rdflib.Graph().parse(data=text, format=syntax).objects())
        print("pyoxigraph", base, syntax, *(triple.object.value for triple in pyoxigraph.parse(text, format=peers[syntax])))
    graph = rdflib.Graph()
    graph.update("BASE <%s> INSERT DATA { <> <http://example.org/p> <#p> }" % base)
    print("rdflib", base, "SPARQL", *graph.objects())
END
seen=$(v/bin/python -W ignore resolve.py && node resolve.mjs)
echo "$seen"
want='rdflib did:example:123 json-ld
pyoxigraph did:example:123 json-ld did:example:123#p
rdflib did:example:123 xml #p
pyoxigraph did:example:123 xml did:example:123#p
rdflib did:example:123 turtle did:example:123#p
pyoxigraph did:example:123 turtle did:example:123#p
rdflib did:example:123 SPARQL #p
rdflib urn:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6 json-ld urn:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6/#p
pyoxigraph urn:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6 json-ld urn:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6#p
rdflib urn:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6 xml #p
pyoxigraph urn:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6 xml urn:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6#p
rdflib urn:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6 turtle urn:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6#p
pyoxigraph urn:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6 turtle urn:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6#p
rdflib urn:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6 SPARQL #p
jsonld.js did:example:123 did:example:123#p
jsonld.js urn:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6 urn:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6#p'
[ "$seen" = "$want" ] || { echo "behaviour has changed; it was:" "$want" >&2; exit 1; }
