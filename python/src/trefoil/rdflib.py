"""rdflib: its terms, and a store that keeps a graph of rdflib at a node.

graph = rdflib.Graph(store=TrefoilStore(Client("http://127.0.0.1:7333")))
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import rdflib
from rdflib.plugins.sparql import prepareQuery
from rdflib.query import Result
from rdflib.store import Store

from . import terms
from ._calls import DEFAULT_GRAPH
from .client import Client
from .terms import IRI, Blank, Literal, Term, Triple, TripleTerm


def to_rdflib(term: Term) -> rdflib.URIRef | rdflib.BNode | rdflib.Literal:
    """Return a term of rdflib. The lexical form of a literal is kept; rdflib may write its language in lower case.

    A triple term or a literal with a base direction is a ValueError, because rdflib has neither.
    """
    match term:
        case TripleTerm():
            raise ValueError(f"rdflib has no triple terms, such as {_clip(term)}: read them with the client")
        case Literal() if term.direction:
            raise ValueError(f"rdflib has no base directions, as {_clip(term)} has one: read it with the client")
        case IRI():
            return rdflib.URIRef(term.value)
        case Blank():
            return rdflib.BNode(term.label)
    if term.language:
        return rdflib.Literal(term.value, lang=term.language)
    # rdflib's literals without a datatype are strings, too.
    datatype = None if term.datatype == terms.XSD_STRING else rdflib.URIRef(term.datatype)
    return rdflib.Literal(term.value, datatype=datatype, normalize=False)


def _clip(term: Term) -> str:
    text = str(term)
    return text if len(text) <= 200 else text[:200] + "..."


def from_rdflib(term: object) -> IRI | Blank | Literal:
    """Return the term of a URIRef, BNode or Literal of rdflib. Anything else is a ValueError."""
    match term:
        case rdflib.URIRef():
            return IRI(str(term))
        case rdflib.BNode():
            return Blank(str(term))
        case rdflib.Literal():
            datatype = terms.XSD_STRING if term.datatype is None else str(term.datatype)
            return Literal(str(term), terms.RDF_LANG_STRING if term.language else datatype, term.language or "")
    raise ValueError(f"{term!r} is no URIRef, BNode or Literal of rdflib")


def triple_from_rdflib(triple: tuple[Any, ...], graph: IRI | Blank | None = None) -> Triple:
    """Return the triple of a tuple of three terms of rdflib."""
    subject, predicate, object = map(from_rdflib, triple)
    if isinstance(subject, Literal) or not isinstance(predicate, IRI):
        raise ValueError(f"{triple!r}: a subject is no literal, and a predicate is an IRI")
    return Triple(subject, predicate, object, graph)


class TrefoilStore(Store):
    """A store of rdflib for one graph of a node: the default graph, or the graph with an IRI.

    Queries run on the node. Each add is a request; for many triples use Graph.addN, or Client.add and Client.load.
    A triple or row that has a triple term or a base direction is a ValueError, see to_rdflib.
    """

    context_aware = False
    transaction_aware = False

    def __init__(self, client: Client, graph: IRI | None = None) -> None:
        super().__init__()
        self._client, self._graph = client, graph
        self._prefixes: dict[str, rdflib.URIRef] = {}

    def _pattern(self, triple: tuple[Any, Any, Any]) -> tuple[Any, Any, Any, Any] | None:
        """Return the terms of a pattern, or None if it cannot match, as a literal as subject."""
        s, p, o = (None if t is None else from_rdflib(t) for t in triple)
        if isinstance(s, Literal) or isinstance(p, (Literal, Blank)):
            return None
        return s, p, o, self._graph or DEFAULT_GRAPH

    def add(self, triple: Any, context: Any = None, quoted: bool = False) -> None:
        """Add a triple."""
        self._client.add([triple_from_rdflib(triple, self._graph)])

    def addN(self, quads: Any) -> None:
        """Add triples, in requests of many."""
        self._client.add(triple_from_rdflib(quad[:3], self._graph) for quad in quads)

    def remove(self, triple: Any, context: Any = None) -> None:
        """Delete the triples that match a pattern."""
        if (pattern := self._pattern(triple)) is not None:
            self._client.delete_match(*pattern)

    def triples(self, triple_pattern: Any, context: Any = None) -> Iterator[tuple[Any, Iterator[Any]]]:
        """Yield the triples that match a pattern."""
        if (pattern := self._pattern(triple_pattern)) is not None:
            for t in self._client.match(*pattern):
                yield (to_rdflib(t.subject), to_rdflib(t.predicate), to_rdflib(t.object)), iter((context,))

    def __len__(self, context: Any = None) -> int:
        return self._client.count(graph=self._graph or DEFAULT_GRAPH)

    def bind(self, prefix: str, namespace: rdflib.URIRef, override: bool = True) -> None:
        """Keep a prefix for queries and updates. The node does not get it."""
        if override or prefix not in self._prefixes:
            self._prefixes[prefix] = namespace

    def namespace(self, prefix: str) -> rdflib.URIRef | None:
        """Return the namespace of a prefix."""
        return self._prefixes.get(prefix)

    def prefix(self, namespace: rdflib.URIRef) -> str | None:
        """Return the prefix of a namespace."""
        return next((name for name, iri in self._prefixes.items() if iri == namespace), None)

    def namespaces(self) -> Iterator[tuple[str, rdflib.URIRef]]:
        """Yield the prefixes."""
        yield from self._prefixes.items()

    def _text(self, text: str, prefixes: Mapping[str, Any] | None) -> str:
        """Return a query or update with its prefixes."""
        return "".join(f"PREFIX {n}: {IRI(str(i))}\n" for n, i in {**self._prefixes, **(prefixes or {})}.items()) + text

    def query(
        self, query: Any, initNs: Mapping[str, Any], initBindings: Mapping[str, Any], queryGraph: str, **_: Any
    ) -> Result:
        """Run a query on the node. With bindings rdflib runs it, over triples."""
        if not isinstance(query, str) or initBindings:
            raise NotImplementedError
        text = self._text(query, initNs)
        form = prepareQuery(text).algebra.name
        graphs = [self._graph.value] if self._graph else []
        if form == "AskQuery":
            result = Result("ASK")
            result.askAnswer = self._client.ask(text, default_graphs=graphs)
        elif form == "SelectQuery":
            result = Result("SELECT")
            rows = self._client.query(text, default_graphs=graphs)
            result.vars = [rdflib.Variable(name) for name in rows.variables]
            result.bindings = ({rdflib.Variable(n): to_rdflib(t) for n, t in row.items()} for row in rows)
        else:
            result = Result("CONSTRUCT")
            result.graph = rdflib.Graph()
            for t in self._client.construct(text, default_graphs=graphs):
                result.graph.add((to_rdflib(t.subject), to_rdflib(t.predicate), to_rdflib(t.object)))
        return result

    def update(
        self, update: Any, initNs: Mapping[str, Any], initBindings: Mapping[str, Any], queryGraph: str, **_: Any
    ) -> None:
        """Make an update of the default graph on the node. Others are made by rdflib, triple by triple."""
        if not isinstance(update, str) or initBindings or self._graph:
            raise NotImplementedError
        self._client.update(self._text(update, initNs))
