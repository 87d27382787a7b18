"""The client for asyncio. Its code is that of the other one, so each path of its own is enough here."""

from __future__ import annotations

import asyncio
import io
import tracemalloc
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from conftest import Node

from trefoil import DEFAULT_GRAPH, IRI, AsyncClient, Client, Literal, TrefoilError, Triple, TripleTerm

S, P, Q = IRI("http://ex/s"), IRI("http://ex/p"), IRI("http://ex/q")


def run(node: Node, test: Callable[[AsyncClient], Awaitable[None]]) -> None:
    async def main() -> None:
        async with AsyncClient(node.url, page_size=7) as client:
            await test(client)

    asyncio.run(main())


def test_sync_client_is_made_from_the_async_one() -> None:
    from unasync import SOURCE, TARGET, unasync

    assert TARGET.read_text() == unasync(SOURCE.read_text()), "run python unasync.py"


def test_all(node: Node, client: Client, tmp_path: Path) -> None:
    triples = [Triple(IRI(f"http://ex/{i:03}"), P, Literal.of(i)) for i in range(20)]

    async def test(c: AsyncClient) -> None:
        assert (await c.add(triples)).added == 20
        assert [t async for t in c.range("spo")] == triples
        assert len([t async for t in c.match(predicate=P, limit=12)]) == 12
        async with await c.query("SELECT ?s ?o { ?s ?p ?o } ORDER BY ?o") as rows:
            assert rows.variables == ("s", "o")
            assert [row["o"] async for row in rows] == [t.object for t in triples]
        assert await c.ask("ASK { ?s ?p 7 }")
        assert await c.ask("ASK { ?s ?p ?o }", bindings={"o": 7})
        assert not await c.ask("ASK { ?s ?p ?o }", bindings={"o": 99})
        assert [t async for t in c.construct("CONSTRUCT WHERE { ?s ?p 7 }")] == triples[7:8]
        assert [t async for t in c.describe(triples[3].subject)] == triples[3:4]  # type: ignore[arg-type]
        assert b"".join([piece async for piece in c.query_document("ASK {}", "text/csv")])
        evil = Literal("} #")
        seven = Triple(triples[7].subject, Q, evil)
        change = "INSERT { ?s ?q ?v } WHERE { ?s ?p 7 }"
        assert (await c.update(change, bindings={"q": Q, "v": evil})).added == 1
        construct = c.construct("CONSTRUCT WHERE { ?s ?q ?v }", bindings={"v": evil})
        assert [t async for t in construct] == [seven]
        assert (await c.delete([seven])).deleted == 1
        assert (await c.update("DELETE WHERE { ?s ?p 7 }")).deleted == 1
        assert await c.count() == 19
        assert (await c.where(triples[0])).stored
        assert (await c.delete(triples)).missing == 1
        term = TripleTerm(S, P, Literal("x", language="ar", direction="rtl"))
        said = Triple(S, P, term)
        assert (await c.add([said])).added == 1
        assert [t async for t in c.match(object=said.object)] == [said]
        async with await c.query("SELECT ?s ?o { ?s ?p ?o }", bindings={"o": term}) as rows:
            assert [row async for row in rows] == [{"s": S, "o": said.object}]
        assert (await c.delete([said])).deleted == 1
        quoted = io.BytesIO(b"<< <a:s> <a:p> <a:o> >> <a:q> <a:o> .")
        assert (await c.load(quoted, media_type="application/n-triples", rdf_star=True)).new == 2
        await c.delete_match(predicate=IRI("a:q"))
        await c.delete_match(object=TripleTerm(IRI("a:s"), IRI("a:p"), IRI("a:o")))
        path = tmp_path / "a.nt"
        path.write_bytes(b"<a:s> <a:p> <a:o> .\n")
        assert (await c.load(str(path))).new == 1
        assert (await c.load(io.BytesIO(b"<a:s> <a:p> 2 ."), media_type="text/turtle")).new == 1
        await c.put_graph(DEFAULT_GRAPH, [Triple(S, IRI("urn:trefoil:linksTo"), IRI("http://ex/t"))])
        assert await c.links.get([S.value]) == [["http://ex/t"]]
        assert S in {t.subject async for t in c.graph(DEFAULT_GRAPH)}
        with pytest.raises(TrefoilError) as e:
            await c.query("SELECT")
        assert e.value.kind == "syntax"

    run(node, test)


def test_requests_at_the_same_time(node: Node, client: Client) -> None:
    async def test(c: AsyncClient) -> None:
        results = await asyncio.gather(*(c.add([Triple(S, P, Literal.of(i))]) for i in range(50)))
        assert sum(r.added for r in results) == 50
        assert await c.count() == 50

    run(node, test)


def test_rows_are_streamed(node: Node, client: Client) -> None:
    """20 MB of rows pass, and at no time are 4 MB of them held."""
    strings = " ".join(f'"{i}{"x" * 10_000}"' for i in range(20))
    numbers = " ".join(str(i) for i in range(100))

    async def test(c: AsyncClient) -> None:
        tracemalloc.start()
        try:
            count = 0
            async for _ in await c.query(f"SELECT ?a {{ VALUES ?a {{ {strings} }} VALUES ?b {{ {numbers} }} }}"):
                count += 1
            assert count == 2000
            assert tracemalloc.get_traced_memory()[1] < 4 << 20
        finally:
            tracemalloc.stop()

    run(node, test)


def test_a_cancelled_query_leaves_the_client_usable(node: Node, client: Client) -> None:
    values = " ".join(str(i) for i in range(500))

    async def test(c: AsyncClient) -> None:
        query = (
            f"SELECT (COUNT(*) AS ?n) {{ VALUES ?a {{ {values} }} VALUES ?b {{ {values} }} VALUES ?c {{ {values} }} }}"
        )
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(c.query(query), 0.3)
        assert await c.ask("ASK {}")

    run(node, test)
