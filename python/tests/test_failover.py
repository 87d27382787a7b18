"""Several addresses, and requests that are sent again."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable
from urllib.parse import urlsplit

import httpx
import pytest
from conftest import Node

from trefoil import IRI, AsyncClient, Client, Literal, TrefoilError, Triple, UnknownOutcome, _calls, _session
from trefoil._session import Attempts, Request, Session

P = IRI("http://ex/p")


def numbered(begin: int, end: int) -> list[Triple]:
    return [Triple(IRI(f"http://ex/{i:06}"), P, Literal.of(i)) for i in range(begin, end)]


def refusing() -> str:
    """Return an address at which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as s:
        return f"http://127.0.0.1:{s.getsockname()[1]}"


class Cutter:
    """A way to a node that drops the first answers: the request arrives, and then the connection breaks."""

    def __init__(self, url: str, cuts: int, answer_bytes: int = 0) -> None:
        self._to = (urlsplit(url).hostname or "", urlsplit(url).port or 0)
        self._cuts, self._answer_bytes = cuts, answer_bytes
        self._server = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._server.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                incoming, _ = self._server.accept()
            except OSError:
                return
            with incoming, socket.create_connection(self._to) as node:
                back = threading.Thread(target=self._pass, args=(incoming, node))
                back.start()
                answer = node.recv(1 << 16)
                if self._cuts > 0:
                    self._cuts -= 1
                    incoming.sendall(answer[: self._answer_bytes])
                else:
                    while answer:
                        incoming.sendall(answer)
                        answer = node.recv(1 << 16)
                for s in (incoming, node):
                    with contextlib.suppress(OSError):
                        s.shutdown(socket.SHUT_RDWR)
                back.join()

    @staticmethod
    def _pass(incoming: socket.socket, node: socket.socket) -> None:
        try:
            while data := incoming.recv(1 << 16):
                node.sendall(data)
            node.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def close(self) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self._thread.join()


def test_refused_address(node: Node, client: Client) -> None:
    """The next address gets the request at once, also if nothing is sent again."""
    with Client([refusing(), node.url], retries=0) as c:
        assert c.load([b"<a:s> <a:p> <a:o> .\n"], media_type="application/n-triples").new == 1
    with Client(f"{refusing()}, {node.url}", retries=0) as c:
        assert c.add(numbered(0, 1)).added == 1
    dead = refusing()
    with Client(dead, retries=0) as c, pytest.raises(TrefoilError, match=f"no connection to {dead}") as e:
        c.add(numbered(0, 1))
    assert e.value.kind == "connection"
    assert not isinstance(e.value, UnknownOutcome)


def test_silent_address(node: Node, client: Client) -> None:
    """A node that accepts a connection and does not answer is given up after the timeout."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with Client([address, node.url], timeout=0.2) as c:
            assert c.count() == 0
        with (
            Client(address, timeout=0.2, retries=0) as c,
            pytest.raises(UnknownOutcome, match=r"ReadTimeout|timed out"),
        ):
            c.add(numbered(0, 1))


def test_no_connection_is_free(node: Node, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results that are not read keep the connections: a request then ends with an error, and was not sent."""
    monkeypatch.setattr(_session, "MAX_CONNECTIONS", 3)
    monkeypatch.setattr(_session, "CONNECTION_WAIT", 0.2)
    client.add(numbered(0, 3))
    with Client([node.url, refusing()]) as c:
        unread = [c.query("SELECT ?s { ?s ?p ?o }") for _ in range(3)]
        for call in (c.count, lambda: c.add(numbered(3, 4))):
            with pytest.raises(TrefoilError, match=r"all 3 connections .* in use for 0\.2 s: read results") as e:
                call()
            assert not isinstance(e.value, UnknownOutcome)
        assert c._session.current == 0, "the client left a healthy node"
        unread[0].close()
        assert c.count() == 3
        for rows in unread:
            rows.close()


def test_a_slow_query_is_not_sent_to_another_node(node: Node, client: Client) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        Client([f"http://127.0.0.1:{silent.getsockname()[1]}", node.url], timeout=0.2) as c,
    ):
        with pytest.raises(TrefoilError, match=r"sent nothing for 0\.2 s, the client's timeout"):
            c.query("SELECT ?s { ?s ?p ?o }")
        assert c.ask("ASK {}"), "the next request goes to the next node"


def test_a_change_is_made_once(node: Node, client: Client) -> None:
    """The answer is lost, and the second try gets it by its key."""
    cutter = Cutter(node.url, cuts=1)
    try:
        with Client(cutter.url) as c:
            assert c.update('INSERT { ?s <http://ex/n> "x" } WHERE { BIND(BNODE() AS ?s) }').added == 1
        assert client.count() == 1
        cutter._cuts = 1
        with Client(cutter.url) as c:
            assert c.add(numbered(0, 3)).added == 3
    finally:
        cutter.close()


def test_unknown_outcome(node: Node, client: Client) -> None:
    cutter = Cutter(node.url, cuts=99)
    try:
        with Client(cutter.url, retries=1) as c:
            with pytest.raises(UnknownOutcome, match="may be done"):
                c.update("INSERT DATA { <http://ex/a> <http://ex/p> 1 }")
            with pytest.raises(UnknownOutcome, match="may be done"):
                c.load([b"<a:s> <a:p> <a:o> .\n"], media_type="application/n-triples")
            with pytest.raises(TrefoilError) as e:
                c.count()
            assert not isinstance(e.value, UnknownOutcome)
        assert client.count() == 2
    finally:
        cutter.close()


def test_a_broken_stream_is_an_error(node: Node, client: Client) -> None:
    """Whatever part of an answer arrived, it does not look complete."""
    client.add(numbered(0, 100))
    for answer_bytes in (400, 1500):
        cutter = Cutter(node.url, cuts=99, answer_bytes=answer_bytes)
        try:
            with Client(cutter.url, retries=0) as c:
                with pytest.raises(TrefoilError, match="broke off"):
                    list(c.query("SELECT ?s ?o { ?s ?p ?o }"))
                with pytest.raises(TrefoilError, match="broke off"):
                    list(c.construct("CONSTRUCT WHERE { ?s ?p ?o }"))
                with pytest.raises(TrefoilError, match="broke"):
                    list(c.match())
        finally:
            cutter.close()


def wait_ready(url: str) -> None:
    deadline = time.monotonic() + 60
    while httpx.get(url + "/readyz").status_code != 200:
        assert time.monotonic() < deadline, f"{url} is not ready"
        time.sleep(0.05)


def test_a_node_of_a_cluster_dies(start: Callable[..., Node]) -> None:
    # 1. Three nodes.
    first = start("--failure-timeout", "2s")
    nodes = [first]
    for _ in range(2):
        wait_ready(nodes[-1].url)
        nodes.append(start("--join", first.url.removeprefix("http://"), "--failure-timeout", "2s"))
    for n in nodes:
        wait_ready(n.url)
    addresses = [n.url for n in (nodes[1], nodes[2], nodes[0])]
    with Client(addresses, page_size=20, retries=12) as client:
        triples = numbered(0, 100)
        assert client.add(triples).added == 100
        # 2. The node that gets the requests is killed in the middle of a read, which has each triple once.
        read = client.match(predicate=P)
        got = [next(read)]
        nodes[1].process.kill()
        assert sorted([*got, *read], key=str) == triples
        # 3. Everything else goes on, too.
        assert client.add(numbered(100, 110)).added == 10
        assert client.update("DELETE WHERE { <http://ex/000000> ?p ?o }").deleted == 1
        assert len(list(client.query("SELECT ?s { ?s ?p ?o }"))) == 109

    async def main() -> None:
        async with AsyncClient(addresses, retries=12) as c:
            assert await c.count() == 109

    asyncio.run(main())


READ = Request("GET", "/count")
ADD = Request("POST", "/triples", change=True, by_triple=True)
UPDATE = Request("POST", "/sparql", change=True, if_unavailable=False)


@pytest.mark.parametrize(
    ("request_", "status", "error", "again"),
    [
        (READ, 503, {"kind": "busy"}, True),
        (READ, 503, {"kind": "unavailable"}, True),
        (READ, 503, {"kind": "lost"}, False),
        (READ, 504, {"kind": "query-timeout"}, False),
        (READ, 502, {"kind": "remote"}, False),
        (READ, 502, None, True),
        (READ, 500, {"kind": "internal"}, False),
        (READ, 400, {"kind": "syntax"}, False),
        (ADD, 503, {"kind": "unavailable"}, True),
        (ADD, 503, {"kind": "unavailable", "done": 3}, True),
        (ADD, 504, {"kind": "unknown-outcome"}, True),
        (ADD, 409, {"kind": "under-way"}, True),
        (ADD, 503, {"kind": "lost", "begun": True}, False),
        (UPDATE, 503, {"kind": "busy"}, True),
        (UPDATE, 503, {"kind": "unavailable"}, False),
        (UPDATE, 503, {"kind": "unavailable", "begun": True}, False),
        (UPDATE, 504, {"kind": "unknown-outcome"}, False),
        (UPDATE, 409, {"kind": "under-way"}, True),
        (UPDATE, 502, None, True),
    ],
)
def test_which_errors_are_tried_again(
    request_: Request, status: int, error: dict[str, object] | None, again: bool
) -> None:
    body = b"<html>" if error is None else json.dumps({"error": {"message": "m", **error}}).encode()
    attempts = Attempts(Session("http://a,http://b", None, None, 4, 10), request_)
    assert (attempts.url.host, attempts.headers.get("Trefoil-Repeat")) == ("a", "false" if request_.change else None)
    if not again:
        with pytest.raises(TrefoilError) as e:
            attempts.refused(status, None, body)
        assert isinstance(e.value, UnknownOutcome) == (error == {"kind": "unknown-outcome"})
        return
    assert attempts.refused(status, "7", body) == 7
    assert attempts.url.host == ("b" if status in (502, 503, 504) else "a")
    assert "Trefoil-Repeat" not in attempts.headers


@pytest.mark.parametrize(
    ("status", "error", "unknown"),
    [
        (502, None, True),
        (504, None, True),
        (500, None, True),
        (413, None, False),
        (503, "busy", False),
        (500, "internal", False),
    ],
)
def test_an_error_of_a_proxy_leaves_a_load_open(status: int, error: str | None, unknown: bool) -> None:
    load = _calls.load("text/turtle", None, None, False, None, False, False).request
    body = b"<html>" if error is None else json.dumps({"error": {"message": "m", "kind": error}}).encode()
    attempts = Attempts(Session("http://a,http://b", None, None, 4, 10), load)
    with pytest.raises(TrefoilError, match="the change may be done" if unknown else "m|HTTP status") as e:
        attempts.refused(status, None, body)
    assert (isinstance(e.value, UnknownOutcome), e.value.status) == (unknown, status)


def test_an_error_after_an_unknown_outcome_is_one() -> None:
    attempts = Attempts(Session("http://a", None, None, 4, 10), UPDATE)
    _ = attempts.url
    attempts.failed(httpx.ReadError("the connection broke"))
    with pytest.raises(UnknownOutcome, match=r"no; an earlier try may have made the change: .*broke"):
        attempts.refused(422, None, b'{"error":{"kind":"rejected","message":"no"}}')
