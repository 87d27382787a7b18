"""The client. Made from aio.py by unasync.py: change that file."""

from __future__ import annotations

import time
import ssl
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO, TypeVar, overload

import httpx

from . import _calls
from ._calls import (
    AddResult,
    Bindings,
    DeleteResult,
    Direction,
    GraphName,
    GraphResult,
    LoadSummary,
    Order,
    PatternGraph,
    Row,
    UpdateResult,
    Whereabouts,
)
from ._pieces import pieces
from ._session import LOOPBACK, MAX_ERROR_BYTES, Attempts, Call, Lines, Request, Session, broke_off
from .terms import IRI, Blank, Term, Triple

T = TypeVar("T")


class Client:
    """A client of one node, or of the members of one cluster.

    addresses is a URL such as http://127.0.0.1:7333, or several of one cluster: a list, or one text with commas
    between them. Requests go to one of them. If a connection cannot be made, the request goes to the next one at
    once. If it breaks, or if the node is not available, the client turns to the next one: reads are sent again,
    and so are changes, because each has a key by which it is made once (docs/api/triples.md). A load is never sent
    again if it has begun.

    token is the node's token; auth is a user with a password. verify is an ssl.SSLContext for https, if the
    system's certificates do not do. timeout is the number of seconds after which a node that neither sends nor takes
    anything is given up; without it a request waits, because a query may take long. A query that is given up is not
    sent to another node. A client has 100 connections, and each result that is not read to its end keeps one. A
    request that gets none for 30 seconds is a TrefoilError, and was not sent.

    version is the newest version of RDF that answers of queries, patterns, ranges and graphs may have: "1.1" has no
    triple terms and no base directions, "1.2-basic" has no triple terms. An answer with such a term is a TrefoilError.
    Without it answers have the terms of the newest version that the node knows.

    Errors are TrefoilError. A client may be used by several threads.
    """

    def __init__(
        self,
        addresses: str | Sequence[str] = "http://127.0.0.1:7333",
        *,
        token: str | None = None,
        auth: tuple[str, str] | None = None,
        verify: ssl.SSLContext | bool = True,
        retries: int = 4,
        page_size: int = 10_000,
        timeout: float | None = None,
        version: str | None = None,
    ) -> None:
        self._session = Session(addresses, token, auth, retries, page_size, timeout, version)
        mounts: Mapping[str, None] = dict.fromkeys(LOOPBACK)
        self._http = httpx.Client(
            timeout=self._session.timeout, limits=self._session.limits, verify=verify, mounts=mounts
        )
        self.links = Links(self)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Sending.

    def _open(self, request: Request, read: bool, body: Iterable[bytes] | None = None) -> httpx.Response:
        """Send a request until it succeeds. If read is true, its answer is read; otherwise it must be closed."""
        attempts = Attempts(self._session, request)
        while True:
            content = request.body if body is None else body
            try:
                made = self._http.build_request(request.method, attempts.url, headers=attempts.headers, content=content)
                response = self._http.send(made, stream=True)
                if response.is_success:
                    if read:
                        response.read()
                    return response
                message = b""
                for chunk in response.iter_bytes():
                    message += chunk
                    if len(message) >= MAX_ERROR_BYTES:
                        break
                response.close()
            except httpx.TransportError as e:
                pause = attempts.failed(e)
            else:
                pause = attempts.refused(response.status_code, response.headers.get("Retry-After"), message)
            time.sleep(pause)

    def _call(self, call: Call[T], body: Iterable[bytes] | None = None) -> T:
        response = self._open(call.request, True, body)
        return call.parse(response.content)

    def _lines(self, response: httpx.Response) -> Iterator[bytes]:
        lines = Lines()
        try:
            for chunk in response.iter_bytes():
                for line in lines.feed(chunk):
                    yield line
        except httpx.TransportError as e:
            raise broke_off(e) from e
        yield lines.rest()

    def _triples(self, request: Request) -> Iterator[Triple]:
        response = self._open(request, False)
        try:
            for line in self._lines(response):
                if (t := _calls.triple_of(line)) is not None:
                    yield t
        finally:
            response.close()

    def _document(self, request: Request) -> Iterator[bytes]:
        response = self._open(request, False)
        try:
            for chunk in response.iter_bytes():
                yield chunk
        except httpx.TransportError as e:
            raise broke_off(e) from e
        finally:
            response.close()

    # SPARQL.

    def query(
        self,
        text: str,
        *,
        bindings: Bindings = None,
        default_graphs: Sequence[str] = (),
        named_graphs: Sequence[str] = (),
        timeout: float | None = None,
    ) -> Rows:
        """Run a SELECT and return its rows, which stream while they are read.

        A row is a dict of the variables that are bound. bindings gives variables of the text values: an IRI, a Literal,
        a TripleTerm without blank nodes, or a Python value for a Literal. They are sent beside the text, so a value
        stays a value whatever it contains. A subquery has them if it selects the variable. A variable that the text
        lacks is an error.

        default_graphs and named_graphs are the IRIs of a dataset. timeout, in seconds, shortens the node's own. Rows
        that are not read to their end must be closed, or used in a with statement.
        """
        request = _calls.query(text, _calls.RESULTS, default_graphs, named_graphs, timeout, bindings)
        return Rows(self, self._open(request, False))._begin()

    def ask(
        self,
        text: str,
        *,
        bindings: Bindings = None,
        default_graphs: Sequence[str] = (),
        named_graphs: Sequence[str] = (),
        timeout: float | None = None,
    ) -> bool:
        """Run an ASK. For the parameters see query."""
        request = _calls.query(text, _calls.RESULTS, default_graphs, named_graphs, timeout, bindings)
        return self._call(_calls.ask(request))

    def construct(
        self,
        text: str,
        *,
        bindings: Bindings = None,
        default_graphs: Sequence[str] = (),
        named_graphs: Sequence[str] = (),
        timeout: float | None = None,
    ) -> Iterator[Triple]:
        """Run a CONSTRUCT or DESCRIBE and yield its triples while they arrive. Some may come twice. See query."""
        return self._triples(_calls.query(text, _calls.TRIPLES, default_graphs, named_graphs, timeout, bindings))

    def describe(self, resource: IRI) -> Iterator[Triple]:
        """Yield the triples of DESCRIBE for a resource."""
        return self.construct(f"DESCRIBE {resource}")

    def query_document(
        self,
        text: str,
        media_type: str,
        *,
        bindings: Bindings = None,
        default_graphs: Sequence[str] = (),
        named_graphs: Sequence[str] = (),
        timeout: float | None = None,
    ) -> Iterator[bytes]:
        """Run a query of any form and yield its result as the node sends it, such as text/csv. See query."""
        return self._document(_calls.query(text, media_type, default_graphs, named_graphs, timeout, bindings))

    def update(
        self,
        text: str,
        *,
        bindings: Bindings = None,
        using_graphs: Sequence[str] = (),
        using_named_graphs: Sequence[str] = (),
        timeout: float | None = None,
    ) -> UpdateResult:
        """Make a SPARQL update, durably when it returns. bindings are for the WHERE of its operations, see query."""
        return self._call(_calls.update(text, using_graphs, using_named_graphs, timeout, bindings))

    # Triples.

    def add(self, triples: Iterable[Triple]) -> AddResult:
        """Add triples, durably when it returns. Labels of blank nodes are kept.

        Triples of up to 8 MiB are one request, more are several. If one fails, those before it stay added. A
        malformed term is a ValueError.
        """
        added = existing = 0
        for document in _calls.batches(triples):
            r = self._call(_calls.add(document))
            added, existing = added + r.added, existing + r.existing
        return AddResult(added, existing)

    def delete(self, triples: Iterable[Triple]) -> DeleteResult:
        """Delete triples, durably when it returns. See add."""
        deleted = missing = 0
        for document in _calls.batches(triples):
            r = self._call(_calls.delete(document))
            deleted, missing = deleted + r.deleted, missing + r.missing
        return DeleteResult(deleted, missing)

    def delete_match(
        self,
        subject: IRI | Blank | None = None,
        predicate: IRI | None = None,
        object: Term | None = None,
        graph: PatternGraph = None,
    ) -> DeleteResult:
        """Delete all triples that match a pattern, in which at least one term is fixed. See match."""
        return self._call(_calls.delete_match(_calls.pattern(subject, predicate, object, graph)))

    def match(
        self,
        subject: IRI | Blank | None = None,
        predicate: IRI | None = None,
        object: Term | None = None,
        graph: PatternGraph = None,
        *,
        offset: int = 0,
        limit: int | None = None,
    ) -> Iterator[Triple]:
        """Yield the triples that match a pattern; None matches anything, DEFAULT_GRAPH triples without a graph.

        They are read page by page. Each triple that stays in the store meanwhile is yielded exactly once.
        """
        params = _calls.pattern(subject, predicate, object, graph)
        return self._pages(_calls.Pages("/triples", params, self._session.page_size, offset, limit))

    def range(
        self,
        order: Order,
        *,
        prefix: Sequence[Term] = (),
        ge: Term | None = None,
        gt: Term | None = None,
        le: Term | None = None,
        lt: Term | None = None,
        starts: str | None = None,
        start: Sequence[Term] = (),
        until: Sequence[Term] = (),
        reverse: bool = False,
        offset: int = 0,
        limit: int | None = None,
    ) -> Iterator[Triple]:
        """Yield the triples of an order between bounds, in this order. See match.

        prefix fixes the leading terms of the order. ge, gt, le and lt bound the next term by value. starts is the
        beginning of that term in N-Triples syntax, such as '<http://ex/' or '"M'. start (inclusive) and until
        (exclusive) are places in the order.
        """
        params = _calls.bounds(order, prefix, ge, gt, le, lt, starts, start, until, reverse)
        return self._pages(_calls.Pages("/range", params, self._session.page_size, offset, limit))

    def _pages(self, pages: _calls.Pages) -> Iterator[Triple]:
        while (request := pages.request()) is not None:
            response = self._open(request, True)
            for triple in pages.triples(response.content, response.headers.get_list("Link")):
                yield triple

    def count(
        self,
        subject: IRI | Blank | None = None,
        predicate: IRI | None = None,
        object: Term | None = None,
        graph: PatternGraph = None,
        *,
        estimate: bool = False,
    ) -> int:
        """Return how many triples match a pattern; with estimate about how many, which is faster. See match."""
        return self._call(_calls.count(_calls.pattern(subject, predicate, object, graph), estimate))

    def where(self, triple: Triple) -> Whereabouts:
        """Return which machines have a triple, and why. It need not be stored."""
        return self._call(_calls.where(triple))

    # Documents.

    def load(
        self,
        source: str | BinaryIO | Iterable[bytes],
        *,
        media_type: str | None = None,
        graph: IRI | None = None,
        base: str | None = None,
        keep_going: bool = False,
        rejects: int | None = None,
        unchecked: bool = False,
        rdf_star: bool = False,
    ) -> LoadSummary:
        """Load a document of any size in bulk: all of it, or nothing if it fails.

        source is the path of a file, a binary file or pieces of bytes; it is sent while it is read. A file compressed
        by gzip, bzip2, zstd or xz is taken as it is. Without media_type the name of the file has its ending, such as
        .ttl or .nt.gz. graph is that of statements without one, base resolves relative IRIs. keep_going leaves
        malformed statements out, of which the summary names some (rejects). unchecked loads although checks among the
        update functions do not run for loads. rdf_star reads quoted triples of the RDF-star drafts as reifiers; RDF 1.2
        needs no parameter. Blank nodes become new ones.
        """
        options = (graph, base, keep_going, rejects, unchecked, rdf_star)
        if isinstance(source, str):
            call = _calls.load(media_type or _calls.media_type(source), *options)
            with open(source, "rb") as file:
                return self._call(call, pieces(file))
        if media_type is None:
            raise ValueError("give the media type of the document, such as text/turtle")
        call = _calls.load(media_type, *options)
        return self._call(call, pieces(source))

    def graph(self, name: GraphName) -> Iterator[Triple]:
        """Yield the triples of a graph: an IRI, DEFAULT_GRAPH, or DATASET for all graphs.

        A named graph without triples is a TrefoilError of kind "not-found".
        """
        return self._triples(_calls.graph(name, "application/n-quads"))

    def graph_document(self, name: GraphName, media_type: str) -> Iterator[bytes]:
        """Yield the document of a graph, such as text/turtle. See graph."""
        return self._document(_calls.graph(name, media_type))

    def put_graph(
        self, name: GraphName, document: bytes | str | Iterable[Triple], media_type: str | None = None
    ) -> GraphResult:
        """Replace a graph by a document of a media type, or by triples. Blank nodes become new ones."""
        return self._call(_calls.change_graph("PUT", name, document, media_type))

    def post_graph(
        self, name: GraphName, document: bytes | str | Iterable[Triple], media_type: str | None = None
    ) -> GraphResult:
        """Add a document of a media type, or triples, to a graph. Blank nodes become new ones."""
        return self._call(_calls.change_graph("POST", name, document, media_type))

    def delete_graph(self, name: GraphName) -> GraphResult:
        """Delete all triples of a graph."""
        return self._call(_calls.delete_graph(name))


class Rows(Iterator[Row]):
    """The rows of a SELECT. variables are the names of its variables, in their order."""

    variables: tuple[str, ...]

    def __init__(self, client: Client, response: httpx.Response) -> None:
        self._response = response
        self._solutions = _calls.Solutions()
        self._lines = client._lines(response)

    def _begin(self) -> Rows:
        """Read the variables."""
        try:
            while self._solutions.variables is None:
                line = next(self._lines, None)
                if line is None:
                    raise broke_off(EOFError("there is no head"))
                self._solutions.feed(line)
        except BaseException:
            self.close()
            raise
        self.variables = self._solutions.variables
        return self

    def __next__(self) -> Row:
        try:
            for line in self._lines:
                if (row := self._solutions.feed(line)) is not None:
                    return row
            self._solutions.finish()
        except BaseException:
            self.close()
            raise
        self.close()
        raise StopIteration

    def close(self) -> None:
        """End the query. Rows that were read to their end are closed already."""
        self._response.close()

    def __enter__(self) -> Rows:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Links:
    """The graph of hyperlinks. Pages are URLs or UIDs, any number of them: they are sent in batches."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def _all(self, calls: Iterable[Call[list[Any]]]) -> list[Any]:
        items: list[Any] = []
        for call in calls:
            answer: list[Any] = self._client._call(call)
            items += answer
        return items

    def uids(self, urls: Iterable[str]) -> list[int | None]:
        """Return the UIDs of URLs; None if a page is unknown."""
        return self._all(_calls.link_calls("uids", "uids", urls))

    def urls(self, uids: Iterable[int]) -> list[str | None]:
        """Return the URLs of UIDs; None if a page is unknown."""
        return self._all(_calls.link_calls("urls", "urls", uids))

    @overload
    def get(self, pages: Iterable[str], direction: Direction = "forward") -> list[list[str]]: ...
    @overload
    def get(self, pages: Iterable[int], direction: Direction = "forward") -> list[list[int]]: ...
    def get(self, pages: Iterable[int | str], direction: Direction = "forward") -> list[list[Any]]:
        """Return the links of pages, as URLs if the pages are URLs, and else as UIDs. An unknown page has none."""
        return self._all(_calls.link_calls("get", "lists", pages, direction))

    def degrees(self, pages: Iterable[int | str], direction: Direction = "forward") -> list[int]:
        """Return how many links pages have."""
        return self._all(_calls.link_calls("degrees", "degrees", pages, direction))
