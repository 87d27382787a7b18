"""The endpoints: requests, and what their answers mean. It has no input or output."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, TypeVar
from typing import Literal as OneOf
from urllib.parse import parse_qs, urlencode, urlsplit

from ._session import Call, Params, Request, broke_off
from .errors import TrefoilError
from .terms import (
    IRI,
    MAX_DEPTH,
    XSD_STRING,
    Blank,
    Literal,
    Term,
    TooDeep,
    Triple,
    TripleTerm,
    Value,
    has_blank,
    parse_statement,
    statements,
)

T = TypeVar("T")
Row: TypeAlias = dict[str, Term]
Order: TypeAlias = OneOf["spo", "pos", "osp", "gspo"]
Direction: TypeAlias = OneOf["forward", "backward"]


class _Name:
    """A graph that has no IRI."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name


DEFAULT_GRAPH: Final = _Name("DEFAULT_GRAPH")
DATASET: Final = _Name("DATASET")
GraphName: TypeAlias = "str | IRI | _Name"
PatternGraph: TypeAlias = "IRI | Blank | _Name | None"


@dataclass(frozen=True)
class AddResult:
    """Triples that were added, and those that existed."""

    added: int = 0
    existing: int = 0


@dataclass(frozen=True)
class DeleteResult:
    """Triples that were deleted, and those that did not exist."""

    deleted: int = 0
    missing: int = 0


@dataclass(frozen=True)
class UpdateResult:
    """What an update did. If repeated is true, an earlier try did it, and the counts are unknown."""

    added: int = 0
    deleted: int = 0
    isolation: str = ""  # "snapshot" or "triple", see docs/GUARANTEES.md
    repeated: bool = False


@dataclass(frozen=True)
class GraphResult:
    """What a change of a graph did. If repeated is true, an earlier try did it, and the counts are unknown."""

    added: int = 0
    existing: int = 0
    deleted: int = 0
    repeated: bool = False


@dataclass(frozen=True)
class Reject:
    """A malformed statement that a load left out."""

    where: str
    message: str
    statement: str


@dataclass(frozen=True)
class LoadSummary:
    """What a load did."""

    id: str
    read: int  # statements, without rejected ones
    new: int  # triples that were not in the store
    duplicates: int  # the others
    rejected: int
    annotations: int = 0
    bytes: int = 0  # decompressed
    rejects: list[Reject] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Place:
    """A version of a triple, or an extra copy, on a machine."""

    version: str  # "spo", "pos", "osp", "gspo" or "replica"
    machine: str
    address: str
    state: str
    row: str  # "present", "missing", "deleted" or "unknown"
    why: str
    ring: int = 0
    error: str = ""


@dataclass(frozen=True)
class Whereabouts:
    """Which machines have a triple."""

    stored: bool
    required: int  # machines that must have the triple if it is stored
    holding: int  # machines that have returned a row of it
    epoch: int
    places: list[Place]
    unknown: str = ""  # why it is not known whether the triple is stored
    phase: str = ""


def _made(make: type[T], wire: Mapping[str, Any], **more: Any) -> T:
    """Return a dataclass of the members of a JSON object that it knows."""
    known = make.__dataclass_fields__  # type: ignore[attr-defined]
    return make(**{**{name: value for name, value in wire.items() if name in known}, **more})


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError as e:
        raise TrefoilError(f"the answer is not a node's: {e}") from e


def _parse(make: type[T]) -> Callable[[bytes], T]:
    return lambda body: _made(make, _json(body) if body.strip() else {})


# Queries and updates.


Bindings: TypeAlias = "Mapping[str, IRI | Literal | TripleTerm | Value] | None"


def query(
    text: str,
    accept: str,
    default_graphs: Sequence[str],
    named_graphs: Sequence[str],
    timeout: float | None,
    bindings: Bindings = None,
) -> Request:
    params = [("default-graph-uri", g) for g in default_graphs] + [("named-graph-uri", g) for g in named_graphs]
    body, media_type = _sparql("query", text, bindings)
    headers = {"Content-Type": media_type, "Accept": accept}
    return Request("POST", "/sparql", params + _timeout(timeout), headers, body, query=True)


def _sparql(name: str, text: str, bindings: Bindings) -> tuple[bytes, str]:
    """Return the body of a query or update and its type. Values are in a form beside the text, never in the text."""
    if not bindings:
        return text.encode(), f"application/sparql-{name}"
    form = [(name, text)] + [("$" + variable, _bound(variable, value)) for variable, value in bindings.items()]
    return urlencode(form).encode(), "application/x-www-form-urlencoded"


def _bound(variable: str, value: IRI | Literal | TripleTerm | Value) -> str:
    """Return the value of a variable in N-Triples syntax."""
    if not _VARIABLE.fullmatch(variable):
        raise ValueError(f"{variable!r} is no name of a variable: give it without ? and $")
    if isinstance(value, (Blank, TripleTerm)) and has_blank(value):
        raise ValueError(f"?{variable}: a blank node in a query is a variable of its own, so it is no value")
    return str(value if isinstance(value, (IRI, Literal, TripleTerm)) else Literal.of(value))


_VARIABLE: Final = re.compile(r"\w+")


def _timeout(seconds: float | None) -> Params:
    return [] if seconds is None else [("timeout", f"{seconds:f}s")]


RESULTS: Final = "application/sparql-results+json"
TRIPLES: Final = "application/n-triples"


def ask(request: Request) -> Call[bool]:
    def parse(body: bytes) -> bool:
        value = _json(body).get("boolean")
        if not isinstance(value, bool):
            raise TrefoilError("the query is no ASK; use query or construct")
        return value

    return Call(request, parse)


def update(
    text: str,
    graphs: Sequence[str],
    named_graphs: Sequence[str],
    timeout: float | None,
    bindings: Bindings = None,
) -> Call[UpdateResult]:
    params = [("using-graph-uri", g) for g in graphs] + [("using-named-graph-uri", g) for g in named_graphs]
    body, media_type = _sparql("update", text, bindings)
    headers = {"Content-Type": media_type, "Accept": "application/json"}
    request = Request("POST", "/sparql", params + _timeout(timeout), headers, body, change=True, if_unavailable=False)
    return Call(request, _parse(UpdateResult))


class Solutions:
    """Parses an answer to SELECT line by line: the node writes each solution on a line of its own."""

    def __init__(self) -> None:
        self.variables: tuple[str, ...] | None = None
        self._ended = False

    def feed(self, line: bytes) -> Row | None:
        """Return the solution of the next line, or None if the line has none."""
        line = line.strip()
        try:
            if self.variables is None:
                self._head(line)
                return None
            if self._ended or line == b"]}}":
                self._ended = True
                return None
            return {name: term_of(wire) for name, wire in json.loads(line.removesuffix(b",")).items()}
        except (TooDeep, RecursionError) as e:
            raise _too_deep() from e
        except (ValueError, KeyError, TypeError, AttributeError) as e:
            raise TrefoilError(f"the answer is not a node's: {line[:200]!r}") from e

    def _head(self, line: bytes) -> None:
        if not line.endswith(b"["):
            if isinstance(json.loads(line).get("boolean"), bool):
                raise TrefoilError("the query is an ASK; use ask")
            raise ValueError(line)
        self.variables = tuple(json.loads(line + b"]}}")["head"]["vars"])

    def finish(self) -> None:
        """Raise an error if the answer has no end."""
        if not self._ended:
            raise broke_off(EOFError("there is no end"))


def _too_deep() -> TrefoilError:
    return TrefoilError(
        f"the answer has triple terms that are nested more than {MAX_DEPTH} deep, which this client cannot hold; "
        "read the document with query_document or graph_document"
    )


def term_of(wire: Mapping[str, Any]) -> Term:
    """Return a term of SPARQL 1.2 Results JSON."""
    value = wire["value"]
    match wire["type"]:
        case "uri":
            return IRI(value)
        case "bnode":
            return Blank(value)
        case "literal" | "typed-literal":
            if "xml:lang" in wire:
                return Literal(value, language=wire["xml:lang"], direction=wire.get("its:dir", ""))
            return Literal(value, wire.get("datatype", XSD_STRING))
        case "triple":
            subject, predicate, object = (term_of(value[part]) for part in ("subject", "predicate", "object"))
            if isinstance(subject, (IRI, Blank)) and isinstance(predicate, IRI):
                return TripleTerm(subject, predicate, object)
    raise ValueError(f"no term: {str(wire)[:200]}")


def triple_of(line: bytes) -> Triple | None:
    """Return the triple of a line of an answer."""
    try:
        return parse_statement(line)
    except TooDeep as e:
        raise _too_deep() from e
    except ValueError as e:
        raise TrefoilError(f"the answer is not a node's: {e}") from e


# Triples.

BATCH_BYTES: Final = 8 << 20


def batches(triples: Iterable[Triple]) -> Iterator[bytes]:
    """Cut triples into N-Quads documents of at most BATCH_BYTES; a larger triple is one of its own."""
    lines: list[bytes] = []
    size = 0
    for number, t in enumerate(triples, 1):
        try:
            line = statements([t])
        except ValueError as e:
            raise ValueError(f"triple {number}: {e}") from e
        if lines and size + len(line) > BATCH_BYTES:
            yield b"".join(lines)
            lines, size = [], 0
        lines.append(line)
        size += len(line)
    if lines:
        yield b"".join(lines)


def add(document: bytes) -> Call[AddResult]:
    headers = {"Content-Type": "application/n-quads"}
    request = Request("POST", "/triples", [("blank", "keep")], headers, document, change=True, by_triple=True)
    return Call(request, _parse(AddResult))


def delete(document: bytes) -> Call[DeleteResult]:
    headers = {"Content-Type": "application/n-quads"}
    return Call(Request("DELETE", "/triples", [], headers, document, change=True, by_triple=True), _parse(DeleteResult))


def delete_match(pattern: Params) -> Call[DeleteResult]:
    return Call(Request("DELETE", "/triples", pattern, change=True), _parse(DeleteResult))


def pattern(subject: IRI | Blank | None, predicate: IRI | None, object: Term | None, graph: PatternGraph) -> Params:
    """Return the parameters of a pattern; None matches anything."""
    params = [(name, str(term)) for name, term in (("s", subject), ("p", predicate), ("o", object)) if term is not None]
    if graph is DEFAULT_GRAPH:
        params.append(("g", "default"))
    elif graph is not None:
        params.append(("g", str(graph)))
    return params


def bounds(
    order: Order,
    prefix: Sequence[Term],
    ge: Term | None,
    gt: Term | None,
    le: Term | None,
    lt: Term | None,
    starts: str | None,
    start: Sequence[Term],
    until: Sequence[Term],
    reverse: bool,
) -> Params:
    """Return the parameters of a range."""
    params: Params = [("order", order)]
    params += [(n, " ".join(map(str, ts))) for n, ts in (("prefix", prefix), ("from", start), ("until", until)) if ts]
    params += [(n, str(t)) for n, t in (("ge", ge), ("gt", gt), ("le", le), ("lt", lt)) if t is not None]
    if starts is not None:
        params.append(("starts", starts))
    if reverse:
        params.append(("reverse", "true"))
    return params


class Pages:
    """The pages of a pattern or range: the request of the next one, until there is none."""

    def __init__(self, path: str, params: Params, page_size: int, offset: int, limit: int | None) -> None:
        if offset < 0 or (limit is not None and limit < 0):
            raise ValueError(f"an offset of {offset}, a limit of {limit}")
        self._path, self._params = path, params
        self._page_size, self._left = page_size, limit
        self._next: Params | None = [("offset", str(offset))] if offset else []

    def request(self) -> Request | None:
        """Return the request of the next page, or None behind the last one."""
        if self._next is None or self._left == 0:
            return None
        size = self._page_size if self._left is None else min(self._page_size, self._left)
        params = [*self._params, ("limit", str(size)), *self._next]
        return Request("GET", self._path, params, {"Accept": "application/n-quads"})

    def triples(self, body: bytes, links: Sequence[str]) -> list[Triple]:
        """Return the triples of a page with its Link headers."""
        triples = [t for line in body.split(b"\n") if (t := triple_of(line)) is not None]
        if self._left is not None:
            self._left -= len(triples)
        before, self._next = self._next, None
        for link in links:
            target, _, rest = link.strip().removeprefix("<").partition(">")
            if 'rel="next"' in rest:
                self._next = [("cursor", parse_qs(urlsplit(target).query)["cursor"][0])]
        if self._next and self._next == before:
            raise TrefoilError("the node announces the same page again")
        return triples


def count(pattern: Params, estimate: bool) -> Call[int]:
    params = [*pattern, ("estimate", "true")] if estimate else pattern
    return Call(Request("GET", "/count", params), lambda body: int(_json(body)["count"]))


def where(t: Triple) -> Call[Whereabouts]:
    def parse(body: bytes) -> Whereabouts:
        wire = _json(body)
        return _made(Whereabouts, wire, places=[_made(Place, place) for place in wire["places"]])

    return Call(Request("GET", "/where", pattern(t.subject, t.predicate, t.object, t.graph)), parse)


# Documents.

_ENDINGS: Final = {
    ".nt": "application/n-triples",
    ".nq": "application/n-quads",
    ".ttl": "text/turtle",
    ".trig": "application/trig",
    ".rdf": "application/rdf+xml",
    ".owl": "application/rdf+xml",
    ".xml": "application/rdf+xml",
    ".jsonld": "application/ld+json",
    ".ndjson": "application/x-ndjson",
}


def media_type(name: str) -> str:
    """Return the media type of a file by its name, in which the node finds the compression by itself."""
    base = name.lower()
    for compression in (".gz", ".bz2", ".zst", ".xz"):
        base = base.removesuffix(compression)
    ending = os.path.splitext(base)[1]
    if ending not in _ENDINGS:
        raise ValueError(f"{name}: no ending of an RDF syntax ({', '.join(_ENDINGS)}); give the media type")
    return _ENDINGS[ending]


def load(
    content_type: str,
    graph: IRI | None,
    base: str | None,
    keep_going: bool,
    rejects: int | None,
    unchecked: bool,
    rdf_star: bool,
) -> Call[LoadSummary]:
    def parse(body: bytes) -> LoadSummary:
        wire = _json(body)
        return _made(
            LoadSummary,
            wire,
            rejects=[_made(Reject, r) for r in wire.get("rejects") or []],
            warnings=wire.get("warnings") or [],
        )

    switches = (("keep-going", keep_going), ("unchecked", unchecked), ("rdf-star", rdf_star))
    params = [(name, "true") for name, on in switches if on]
    params += [("graph", str(graph))] if graph is not None else []
    params += [("base", base)] if base is not None else []
    params += [("rejects", str(rejects))] if rejects is not None else []
    return Call(Request("POST", "/load", params, {"Content-Type": content_type}, retry=False), parse)


def _graph(name: GraphName) -> Params:
    if name is DATASET:
        return []
    if name is DEFAULT_GRAPH:
        return [("default", "")]
    return [("graph", name.value if isinstance(name, IRI) else str(name))]


def graph(name: GraphName, accept: str) -> Request:
    return Request("GET", "/data", _graph(name), {"Accept": accept})


def change_graph(
    method: str, name: GraphName, document: bytes | str | Iterable[Triple], content_type: str | None
) -> Call[GraphResult]:
    if isinstance(document, (bytes, str)):
        body = document.encode() if isinstance(document, str) else document
        if content_type is None:
            raise ValueError("a document needs its media type, such as text/turtle")
    else:
        body, content_type = statements(document), content_type or "application/n-quads"
        if content_type != "application/n-quads":
            raise ValueError(f"triples are sent as application/n-quads, not as {content_type}")
    return Call(
        Request(method, "/data", _graph(name), {"Content-Type": content_type}, body, change=True), _parse(GraphResult)
    )


def delete_graph(name: GraphName) -> Call[GraphResult]:
    if name is DATASET:
        raise ValueError("a dataset cannot be deleted; put an empty document")
    return Call(Request("DELETE", "/data", _graph(name), change=True), _parse(GraphResult))


# Links.

_CALL_PAGES: Final = 50_000
_CALL_BYTES: Final = 8 << 20


def link_calls(
    endpoint: str, result: str, pages: Iterable[int | str], direction: Direction | None = None
) -> Iterator[Call[list[Any]]]:
    """Cut pages into calls of an endpoint of links, whose answers have an item for each page."""
    part: list[str] = []
    kind, size = "", 0
    for page in pages:
        name = "urls" if isinstance(page, str) else "uids"
        if kind and name != kind:
            raise TypeError("pages are all URLs (str) or all UIDs (int)")
        kind = name
        text = str(page)
        if len(part) == _CALL_PAGES or (part and size + len(text) > _CALL_BYTES):
            yield _link_call(endpoint, result, kind, part, direction)
            part, size = [], 0
        part.append(text)
        size += len(text)
    if part:
        yield _link_call(endpoint, result, kind, part, direction)


def _link_call(endpoint: str, result: str, kind: str, pages: list[str], direction: Direction | None) -> Call[list[Any]]:
    fields: dict[str, Any] = {kind: pages}
    if direction is not None:
        fields["direction"] = direction
    if endpoint == "get" and kind == "urls":
        fields["as"] = "urls"

    def parse(answer: bytes) -> list[Any]:
        items: list[Any] = _json(answer)[result]
        if len(items) != len(pages):
            raise TrefoilError(f"the answer is not a node's: {len(items)} items of {len(pages)} pages")
        # UIDs are strings of digits in JSON, because a double does not hold them.
        if endpoint == "uids":
            return [None if uid is None else int(uid) for uid in items]
        if endpoint == "get" and kind == "uids":
            return [[int(uid) for uid in uids] for uids in items]
        return items

    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    return Call(Request("POST", f"/links/{endpoint}", [], headers, json.dumps(fields).encode()), parse)
