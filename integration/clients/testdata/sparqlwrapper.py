"""What users do with SPARQLWrapper and with rdflib's SPARQLStore, on a running
node: `sparqlwrapper.py URL`. Ends with an error at the first thing that is not
as it must be."""

import sys
from urllib.error import HTTPError

from rdflib import Dataset, Graph, Literal, Namespace, URIRef
from rdflib.namespace import RDF, XSD
from rdflib.plugins.stores.sparqlstore import SPARQLStore, SPARQLUpdateStore
from SPARQLWrapper import CSV, DIGEST, GET, JSON, N3, POST, POSTDIRECTLY, TSV, TURTLE, URLENCODED, XML, SPARQLWrapper
from SPARQLWrapper.SPARQLExceptions import EndPointInternalError, QueryBadFormed

url = sys.argv[1] + "/sparql"
E = Namespace("http://example.org/clients/")


def check(condition, what):
    if not condition:
        raise SystemExit("not so: " + str(what))
    print("ok:", str(what)[:100])


def ask(query, form=JSON, method=GET, request=URLENCODED):
    w = SPARQLWrapper(url)
    w.setQuery(query)
    w.setReturnFormat(form)
    w.setMethod(method)
    w.setRequestMethod(request)
    return w.query().convert()


def update(text, request=URLENCODED):
    w = SPARQLWrapper(url)
    w.setQuery(text)
    w.setMethod(POST)
    w.setRequestMethod(request)
    return w.query().response.read()


def wrapper():
    for request in URLENCODED, POSTDIRECTLY:
        update("PREFIX e: <%s> DELETE WHERE { ?s e:age ?o } ; INSERT DATA { e:ann e:age 42 ; e:name \"Ann\"@en . e:bob e:age 7 ; e:name 'B\u00f6b \"x\" \\\\' }" % E, request)
    query = "PREFIX e: <%s> SELECT ?s ?age { ?s e:age ?age } ORDER BY ?age" % E
    for method, request in (GET, URLENCODED), (POST, URLENCODED), (POST, POSTDIRECTLY):
        rows = ask(query, JSON, method, request)["results"]["bindings"]
        check([r["age"]["value"] for r in rows] == ["7", "42"], "JSON by %s %s: %s" % (method, request, rows))
        check(rows[0]["age"]["datatype"] == str(XSD.integer), "the datatype")
    xml = ask(query, XML)
    check(len(xml.getElementsByTagName("result")) == 2, "XML")
    check(ask(query, CSV).decode().splitlines() == ["s,age", E + "bob,7", E + "ann,42"], "CSV")
    check(ask(query, TSV).decode().splitlines()[0] == "?s\t?age", "TSV")  # it sends format= twice
    check(ask("PREFIX e: <%s> ASK { e:ann e:age 42 }" % E)["boolean"] is True, "ASK")
    names = ask("PREFIX e: <%s> SELECT ?n { e:bob e:name ?n }" % E)["results"]["bindings"]
    check(names[0]["n"]["value"] == "B\u00f6b \"x\" \\", "a literal with quotes: %s" % names)
    construct = "PREFIX e: <%s> CONSTRUCT { ?s e:old ?age } { ?s e:age ?age FILTER(?age > 10) }" % E
    for form in TURTLE, N3:
        g = Graph()
        g.parse(data=ask(construct, form), format="turtle")
        check(list(g) == [(E.ann, E.old, Literal(42))], "CONSTRUCT as %s" % form)
    try:
        ask("SELECT * { ?s ?p }")
        check(False, "a syntax error is an error")
    except QueryBadFormed as err:
        check("query:1:18" in str(err), "a syntax error has line and column: %s" % err)


def store():
    g = Graph(SPARQLStore(url))
    check((E.ann, E.age, Literal(42)) in g, "SPARQLStore: contains")
    check({o for o in g.objects(E.bob, E.age)} == {Literal(7)}, "SPARQLStore: objects")
    check(len(list(g.triples((None, E.age, None)))) == 2, "SPARQLStore: triples")
    rows = list(g.query("SELECT ?s ?n { ?s e:name ?n }", initNs={"e": E}))
    check(len(rows) == 2 and Literal("Ann", lang="en") in {r.n for r in rows}, "SPARQLStore: query")
    check(bool(g.query("ASK { ?s ?p ?o }")), "SPARQLStore: ASK")

    s = SPARQLUpdateStore(query_endpoint=url, update_endpoint=url, autocommit=True)
    name = E.graph
    d = Dataset(s)
    named = d.graph(name)
    named.add((E.x, RDF.type, E.Thing))
    named.add((E.x, E.label, Literal("na\u00efve \u2603 \"quoted\" \\ \n newline")))
    check(len(named) == 2, "SPARQLUpdateStore: a named graph holds 2: %s" % len(named))
    check((E.x, E.label, Literal("na\u00efve \u2603 \"quoted\" \\ \n newline")) in named, "SPARQLUpdateStore: a literal comes back as it was")
    check((E.x, RDF.type, E.Thing) not in Graph(SPARQLStore(url)), "SPARQLUpdateStore: the default graph is another one")
    named.remove((E.x, E.label, None))
    check(len(named) == 1, "SPARQLUpdateStore: remove")
    named.update("INSERT DATA { <%sy> <%slabel> 'why' }" % (E, E))
    check({str(c.identifier) for c in d.contexts()} >= {str(name)}, "SPARQLUpdateStore: contexts")
    s.remove_graph(named)
    check(len(d.graph(name)) == 0, "SPARQLUpdateStore: a graph is gone")


def graph_store():
    """The Graph Store Protocol, as rdflib's users call it."""
    from urllib.request import Request, urlopen
    address = sys.argv[1] + "/data?graph=" + E.loaded
    g = Graph()
    g.add((E.one, E.value, Literal("1.50", datatype=XSD.decimal)))
    put = Request(address, g.serialize(format="turtle").encode(), {"Content-Type": "text/turtle"}, method="PUT")
    check(urlopen(put).status in (200, 201, 204), "PUT of a graph")
    back = Graph()
    back.parse(address, format="turtle")
    check(set(back) == set(g), "GET of a graph")
    check(urlopen(Request(address, method="DELETE")).status in (200, 204), "DELETE of a graph")
    try:
        urlopen(address)
        check(False, "a deleted graph is gone")
    except HTTPError as err:
        check(err.code == 404, "a deleted graph is not found")


wrapper()
store()
graph_store()
print("done")
