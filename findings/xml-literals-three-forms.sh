#!/usr/bin/env bash
# rdf:parseType="Literal": three parsers give three literals for one RDF/XML file, and one of them is no XML any more.
#
# Guess:   the content of an element with rdf:parseType="Literal" becomes its canonical XML, the same in each parser.
# Seen:    for <b c="1" a="2">R&amp;D</b> in a namespace: rdflib 7.6.0 keeps the namespace but not the order of attributes that canonical
#          XML has; pyoxigraph 0.5.13 declares all namespaces in scope, the file's rdf: too; rdfxml-streaming-parser 3.3.0 (Comunica,
#          rdf-parse) drops the namespace and writes "R&D", which an XML parser refuses.
# Matters: one file loaded by two tools has two objects: merges double the triple, differences show changes that nobody made, and
#          XHTML descriptions (SKOS notes, OWL comments, DOAP, RSS 1.0) that came through JavaScript break what displays them.
# Instead: convert each file with one tool only, and compare such literals after canonicalization (xml.etree's canonicalize).
# Source:  RDF 1.1 XML Syntax, section 7.2.17 (the content is serialized; the edition of 2004 made exclusive canonical XML of it);
#          RDF 1.1 Concepts, section 5.3 (two such literals have one value if their exclusive canonical forms are the same).
# Needs:   node 20 with npm, python3 with venv.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
printf '%s\n' isodate==0.7.2 pyparsing==3.3.3 >pins
python3 -m venv v && v/bin/pip -q install -c pins 'rdflib==7.6.0' 'pyoxigraph==0.5.13'
npm install --silent --no-audit --no-fund --prefix . --before=2026-11-20 'rdfxml-streaming-parser@3.3.0' >/dev/null
cat >data.rdf <<'END'
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://www.w3.org/1999/xhtml" xmlns:p="http://example.org/">
<rdf:Description rdf:about="http://example.org/a"><p:note rdf:parseType="Literal"><b c="1" a="2">R&amp;D</b></p:note></rdf:Description>
</rdf:RDF>
END
cat >note.mjs <<'END'
import fs from 'node:fs';
import {RdfXmlParser} from 'rdfxml-streaming-parser';
const parser = new RdfXmlParser();
parser.on('data', quad => console.log(quad.object.value));
parser.end(fs.readFileSync('data.rdf', 'utf8'));
END
cat >note.py <<'END'
import pyoxigraph, rdflib, sys, xml.etree.ElementTree as etree
text = open("data.rdf").read()
here, peer = str(next(rdflib.Graph().parse(data=text, format="xml").objects())), next(iter(pyoxigraph.parse(text, format=pyoxigraph.RdfFormat.RDF_XML))).object.value
print(here, peer, sep="\n")
print("canonical:", etree.canonicalize(here) == etree.canonicalize(peer), etree.canonicalize(here))
try:
    etree.fromstring(sys.argv[1])
except etree.ParseError as error:
    print(error)
END
script=$(node note.mjs)
seen=$(echo "$script" && v/bin/python note.py "$script")
echo "$seen"
want='<b c="1" a="2">R&D</b>
<b xmlns="http://www.w3.org/1999/xhtml" c="1" a="2">R&amp;D</b>
<b c="1" a="2" xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://www.w3.org/1999/xhtml" xmlns:p="http://example.org/">R&amp;D</b>
canonical: True <b xmlns="http://www.w3.org/1999/xhtml" a="2" c="1">R&amp;D</b>
not well-formed (invalid token): line 1, column 18'
[ "$seen" = "$want" ] || { echo "behaviour has changed; it was:" "$want" >&2; exit 1; }
