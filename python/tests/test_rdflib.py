"""Terms of rdflib, and its graphs on a node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

rdflib = pytest.importorskip("rdflib")
from trefoil import IRI, XSD, Blank, Client, Literal, Triple, TripleTerm  # noqa: E402
from trefoil.rdflib import TrefoilStore, from_rdflib, to_rdflib, triple_from_rdflib  # noqa: E402
from trefoil.terms import RDF_DIR_LANG_STRING, Term  # noqa: E402

EX = rdflib.Namespace("http://ex/")


@pytest.mark.parametrize(
    "term",
    [
        IRI("http://ex/é"),
        Blank("b.1"),
        Literal(""),
        Literal('a\n"\\'),
        Literal("x", language="en"),
        Literal("01", XSD + "integer"),
        Literal("x", "a:d"),
    ],
)
def test_terms_round_trip(term: Term) -> None:
    assert from_rdflib(to_rdflib(term)) == term


def test_terms_of_rdflib() -> None:
    for term in (
        EX.a,
        rdflib.BNode(),
        rdflib.Literal(7),
        rdflib.Literal(1.5),
        rdflib.Literal(True),
        rdflib.Literal("x", lang="en-gb"),
    ):
        assert to_rdflib(from_rdflib(term)) == term
    assert from_rdflib(rdflib.Literal("x")) == Literal("x")
    for wrong in (rdflib.Variable("x"), "x", None):
        with pytest.raises(ValueError, match="no URIRef"):
            from_rdflib(wrong)
    with pytest.raises(ValueError, match="a subject is no literal"):
        triple_from_rdflib((rdflib.Literal("s"), EX.p, EX.o))


def test_terms_that_rdflib_lacks(client: Client) -> None:
    """They are errors, also of a graph, and never left out or without their direction."""
    s, p = IRI("http://ex/s"), IRI("http://ex/p")
    term, directed = TripleTerm(s, p, Literal("x" * 1000)), Literal("x", language="ar", direction="rtl")
    graph = rdflib.Graph(store=TrefoilStore(client))
    for value, message in (
        (term, r"no triple terms, such as .*x{9}\.\.\.: read"),
        (directed, 'no base directions.*"x"@ar--rtl'),
    ):
        with pytest.raises(ValueError, match=message):
            to_rdflib(value)
        client.update("CLEAR ALL")
        client.add([Triple(s, p, value)])
        reads: list[Callable[[], list[Any]]] = [
            lambda: list(graph),
            lambda: list(graph.query("SELECT ?o { ?s ?p ?o }")),
            lambda: list(graph.query("CONSTRUCT WHERE { ?s ?p ?o }")),
        ]
        for read in reads:
            with pytest.raises(ValueError, match=message):
                read()
    with pytest.raises(ValueError, match="do not go together"):
        from_rdflib(rdflib.Literal("x", datatype=rdflib.URIRef(RDF_DIR_LANG_STRING)))


@pytest.mark.parametrize("name", [None, IRI("http://ex/graph")])
def test_graph(client: Client, name: IRI | None) -> None:
    client.add([Triple(IRI("http://ex/other"), IRI("http://ex/p"), IRI("http://ex/o"), IRI("http://ex/elsewhere"))])
    graph = rdflib.Graph(store=TrefoilStore(client, name))
    graph.bind("ex", EX)
    node = rdflib.BNode()
    graph.add((EX.ann, EX.name, rdflib.Literal("Ann", lang="en")))
    graph.addN(
        [
            (EX.ann, EX.age, rdflib.Literal(41), graph),
            (EX.ann, EX.knows, node, graph),
            (node, EX.age, rdflib.Literal(9), graph),
        ]
    )
    assert len(graph) == 4
    assert graph.value(EX.ann, EX.age).toPython() == 41
    assert set(graph.objects(EX.ann, EX.knows / EX.age)) == {rdflib.Literal(9)}
    assert list(graph.triples((rdflib.Literal("x"), None, None))) == []
    assert [row.age.toPython() for row in graph.query("SELECT ?age { ex:ann ex:age ?age }")] == [41]
    assert graph.query("ASK { ex:ann ex:age 41 }").askAnswer is True
    assert len(graph.query("CONSTRUCT { ?s ex:old ?o } { ?s ex:age ?o }").graph) == 2
    assert [str(r.s) for r in graph.query("SELECT ?s { ?s ex:age ?a }", initBindings={"a": rdflib.Literal(41)})] == [
        str(EX.ann)
    ]
    graph.update("INSERT DATA { ex:bob ex:age 7 }")
    assert len(graph) == 5
    graph.remove((EX.ann, None, None))
    assert len(graph) == 2
    assert client.count() == 3
    assert {t.graph for t in client.match(predicate=IRI("http://ex/age"))} == {name}
