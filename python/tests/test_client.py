"""The client with blocking calls, against a server."""

from __future__ import annotations

import gzip
import io
import ssl
import subprocess
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import Node

from trefoil import DATASET, DEFAULT_GRAPH, IRI, XSD, Blank, Client, Literal, Term, TrefoilError, Triple, TripleTerm
from trefoil._calls import Solutions

S, P, Q, G = IRI("http://ex/s"), IRI("http://ex/p"), IRI("http://ex/q"), IRI("http://ex/g")


def numbered(n: int) -> list[Triple]:
    return [Triple(IRI(f"http://ex/{i:06}"), P, Literal.of(i)) for i in range(n)]


STRANGE: list[Term] = [
    Literal("Ünï¢ødé 日本語 😀"),
    Literal('line\nfeed\rreturn\ttab "quoted" \\ back'),
    Literal("line ends of Unicode: \x0b\x0c\x1c\x85\u2028\u2029 end"),
    Literal("\x00\x01\x7f"),
    Literal("colour", language="en-GB"),
    Literal("顏色", language="zh-Hant-TW"),
    Literal("01", XSD + "integer"),
    Literal("", "http://ex/datatype"),
    IRI("http://ex/日本#é"),
    Blank("label.with-dots"),
    Literal("مرحبا", language="ar", direction="rtl"),
    Literal("hello", language="en-GB", direction="ltr"),
    TripleTerm(S, P, Literal('a )>> . "quoted"\nline', language="ar", direction="rtl")),
    TripleTerm(S, P, TripleTerm(S, Q, TripleTerm(S, P, Literal("01", XSD + "integer")))),
]


def test_terms_round_trip(client: Client) -> None:
    triples = [Triple(S, P, o, g) for o in STRANGE for g in (None, G, Blank("g"))] + [Triple(Blank("s"), P, S)]
    assert client.add(triples).added == len(triples)
    assert client.add(triples).existing == len(triples)
    assert set(client.match()) == set(triples)
    rows = list(client.query("SELECT ?o { <http://ex/s> ?p ?o }"))
    assert {row["o"] for row in rows} == set(STRANGE)
    for o in STRANGE:
        assert list(client.match(object=o, graph=DEFAULT_GRAPH)) == [Triple(S, P, o)]
        if not isinstance(o, Blank):
            assert client.ask(f"ASK {{ {S} {P} {o} }}"), o
    assert set(
        client.construct(
            "CONSTRUCT { ?s <http://ex/q> ?o } { <http://ex/s> ?p ?o . BIND(<http://ex/s> AS ?s) FILTER(!isBlank(?o)) }"
        )
    ) == {Triple(S, Q, o) for o in STRANGE if not isinstance(o, Blank)}
    assert Triple(S, P, STRANGE[0]) in set(client.describe(S))
    assert client.delete(triples).deleted == len(triples)
    assert client.delete(triples[:1]).missing == 1


def test_triple_terms(client: Client) -> None:
    """Reifiers, in all that the client reads and changes; a triple term does not assert its triple."""
    reifies = IRI("http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies")
    anybody = Blank("anybody")
    client.update("""PREFIX ex: <http://ex/> INSERT DATA {
        ex:s ex:p "שלום"@he--rtl ~ ex:r {| ex:q 5 |} . ex:r2 <http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies> <<( ex:s ex:p 7 )>> }""")
    shalom = Literal("שלום", language="he", direction="rtl")
    term, seven = TripleTerm(S, P, shalom), TripleTerm(S, P, Literal.of(7))
    assert list(client.query("SELECT ?t ?q { ?r ?reifies ?t ; <http://ex/q> ?q }", bindings={"reifies": reifies})) == [
        {"t": term, "q": Literal.of(5)}
    ]
    assert [row["v"] for row in client.query("SELECT ?v { ?r ?p <<( ?s ?p2 ?v )>> } ORDER BY isNumeric(?v)")] == [
        shalom,
        Literal.of(7),
    ]
    # Values of variables.
    text = "SELECT ?r { ?r ?p ?t }"
    assert [row["r"] for row in client.query(text, bindings={"t": term})] == [IRI("http://ex/r")]
    assert [row["r"] for row in client.query(text, bindings={"t": shalom})] == [S]
    assert not client.ask(
        "ASK { ?s ?p ?o FILTER(LANGDIR(?o) = 'rtl') }", bindings={"o": Literal("שלום", language="he")}
    )
    with pytest.raises(ValueError, match="blank node"):
        client.query(text, bindings={"t": TripleTerm(S, P, TripleTerm(anybody, P, S))})
    # Patterns and ranges.
    r2 = Triple(IRI("http://ex/r2"), reifies, seven)
    assert list(client.match(object=seven)) == [r2]
    assert list(client.range("pos", prefix=[reifies, seven])) == [r2]
    assert list(client.range("pos", prefix=[reifies], ge=seven, lt=TripleTerm(S, P, Literal.of(8)))) == [r2]
    assert [t.object for t in client.range("pos", prefix=[reifies], starts='<<( <http://ex/s> <http://ex/p> "ש')] == []
    assert client.count(object=term) == 1
    assert client.where(r2).stored
    assert client.count(S, P) == 1, "the triple of the other reifier is not asserted"
    # Changes. A label of a blank node is kept inside of a triple term, too.
    mine = Triple(anybody, reifies, TripleTerm(anybody, P, anybody))
    assert client.add([mine, r2]).added == 1
    assert list(client.match(subject=anybody)) == [mine]
    assert client.delete_match(object=seven).deleted == 1
    assert client.delete([mine]).deleted == 1
    assert list(client.construct("CONSTRUCT WHERE { ?s ?p ?t . <http://ex/r> ?p ?t }")) != []
    client.put_graph(G, [r2])
    assert [t.object for t in client.graph(G)] == [seven]


def reads_of(client: Client) -> list[Callable[[], Iterator[object]]]:
    """Return what reads all triples, in each way."""
    return [
        lambda: client.match(),
        lambda: client.range("spo"),
        lambda: client.query("SELECT * { ?s ?p ?o }"),
        lambda: client.construct("CONSTRUCT WHERE { ?s ?p ?o }"),
        lambda: client.graph(DEFAULT_GRAPH),
        lambda: client.query_document("SELECT * { ?s ?p ?o }", "text/csv, text/tab-separated-values"),
    ]


def test_versions(node: Node, client: Client) -> None:
    """A client of an older version of RDF gets an error in place of a term that the version lacks."""
    term, directed = Triple(S, P, TripleTerm(S, P, S)), Triple(S, Q, Literal("שלום", language="he", direction="rtl"))
    lacking: dict[str | None, list[Triple]] = {"1.1": [term, directed], "1.2-basic": [term], "1.2": [], None: []}
    for version, without in lacking.items():
        for triple in [term, directed, Triple(S, P, S)]:
            client.update("CLEAR ALL")
            with Client(node.url, version=version) as old:
                assert old.add([triple]).added == 1
                for read in reads_of(old):
                    if triple not in without:
                        assert list(read())
                        continue
                    with pytest.raises(TrefoilError, match=f"version {version} of RDF has not") as e:
                        list(read())
                    assert e.value.kind == "not-acceptable"
                assert old.ask("ASK { ?s ?p ?o }")
                assert old.delete_match(subject=S).deleted == 1
    with pytest.raises(ValueError, match="no version '1'"):
        Client(node.url, version="1")


def test_deep_triple_terms_are_an_error(start: Callable[..., Node]) -> None:
    """The store has terms that are nested deeper than the client holds. They are in documents."""
    deep = "<a:s> <a:p> " + "<<( <a:s> <a:p> " * 450 + "<a:o>" + " )>>" * 450 + " .\n"
    with Client(start("--max-nesting", "500").url) as client:
        client.load([deep.encode()], media_type="application/n-triples")
        reads: list[Callable[[], Iterator[object]]] = [
            lambda: client.match(),
            lambda: client.query("SELECT * { ?s ?p ?o }"),
            lambda: client.construct("CONSTRUCT WHERE { ?s ?p ?o }"),
        ]
        for read in reads:
            with pytest.raises(TrefoilError, match="nested more than 100 deep"):
                list(read())
        assert b"".join(client.graph_document(DEFAULT_GRAPH, "application/n-triples")).decode() == deep


def test_query_forms(client: Client) -> None:
    client.add(numbered(3))
    with client.query("SELECT ?b ?a { OPTIONAL { <http://ex/000001> ?p ?a } }") as rows:
        assert rows.variables == ("b", "a")
        assert list(rows) == [{"a": Literal("1", XSD + "integer")}]
    assert list(client.query("SELECT ?x { ?x <http://ex/none> 1 }")) == []
    assert client.ask("ASK {}") is True
    assert b"".join(client.query_document("SELECT ?o { ?s ?p ?o } ORDER BY ?o", "text/csv")) == b"o\r\n0\r\n1\r\n2\r\n"
    with pytest.raises(TrefoilError, match="use ask"):
        client.query("ASK {}")
    with pytest.raises(TrefoilError, match="no ASK"):
        client.ask("SELECT * {}")
    with pytest.raises(TrefoilError) as e:
        list(client.construct("SELECT * {}"))
    assert e.value.kind == "not-acceptable"


def test_dataset_of_a_query(client: Client) -> None:
    client.add([Triple(S, P, Literal("d")), Triple(S, P, Literal("g"), G)])
    query = "SELECT ?o { <http://ex/s> ?p ?o }"
    assert [r["o"] for r in client.query(query, default_graphs=[G.value])] == [Literal("g")]
    assert client.ask("ASK { GRAPH ?g { ?s ?p ?o } }", named_graphs=["http://ex/other"]) is False
    assert client.update("INSERT { ?s <http://ex/q> ?o } WHERE { ?s ?p ?o }", using_graphs=[G.value]).added == 1
    assert [t.object for t in client.match(predicate=Q)] == [Literal("g")]


def test_update(client: Client) -> None:
    r = client.update("INSERT DATA { <http://ex/s> <http://ex/p> 1, 2 }")
    assert (r.added, r.deleted, r.isolation) == (2, 0, "snapshot")
    assert client.update("DELETE WHERE { ?s ?p 1 }").deleted == 1


def test_errors_have_the_servers_message(client: Client) -> None:
    with pytest.raises(TrefoilError, match=r"query:1:24: expected a variable or a term, found '}'") as e:
        client.query("SELECT * WHERE { ?s ?p }")
    assert (e.value.status, e.value.kind, e.value.line, e.value.column) == (400, "syntax", 1, 24)
    with pytest.raises(TrefoilError) as e:
        client.update("INSERT DATA { <http://ex/s> }")
    assert (e.value.status, e.value.kind) == (400, "syntax")
    with pytest.raises(TrefoilError, match="timeout"):
        client.query("SELECT * {}", timeout=-1)
    with pytest.raises(TrefoilError) as e:
        list(client.graph("http://ex/none"))
    assert (e.value.status, e.value.kind) == (404, "not-found")
    with pytest.raises(ValueError, match=r"triple 2: .* no IRI"):
        client.add([Triple(S, P, S), Triple(S, P, IRI("a> <b"))])
    assert client.count() == 0
    with pytest.raises(TrefoilError, match="at least one"):
        client.delete_match()


def test_bindings(client: Client) -> None:
    evil = Literal('"} # \\ \n \u2028 <http://ex/s> ?o }', language="en")
    client.add([*numbered(5), Triple(S, P, evil)])
    text = "SELECT ?s ?o { ?s ?p ?o }"
    assert [row["s"] for row in client.query(text, bindings={"o": evil})] == [S]
    assert [row["o"] for row in client.query(text, bindings={"s": S, "p": P})] == [evil]
    assert len(list(client.query(text, bindings={"p": P}))) == 6
    # A Python value is a literal. A subquery that selects the variable has it, too.
    inner = "SELECT (COUNT(*) AS ?n) { { SELECT ?o { ?s ?p ?o } LIMIT 1 } }"
    assert [row["n"] for row in client.query(inner, bindings={"o": 3})] == [Literal.of(1)]
    assert [row["n"] for row in client.query(inner, bindings={"o": 99})] == [Literal.of(0)]
    assert client.ask("ASK { ?s ?p ?o }", bindings={"o": evil})
    assert not client.ask("ASK { ?s ?p ?o }", bindings={"o": evil.value})
    assert list(client.construct("CONSTRUCT WHERE { ?s ?p ?o }", bindings={"o": evil})) == [Triple(S, P, evil)]
    body = b"".join(client.query_document("SELECT ?s { ?s ?p ?o }", "text/csv", bindings={"o": evil}))
    assert body.decode().split() == ["s", S.value]
    # An update has values in its WHERE.
    assert client.update("DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }", bindings={"o": evil}).deleted == 1
    assert client.count() == 5
    with pytest.raises(TrefoilError, match=r"no variable \?x to bind") as e:
        client.query(text, bindings={"x": 1})
    assert e.value.status == 400
    for bad in ({"?s": S}, {"s o": S}, {"s": Blank("b")}, {"s": IRI("a> <b")}):
        with pytest.raises(ValueError, match=r"name of a variable|blank node|no IRI"):
            client.query(text, bindings=bad)  # type: ignore[arg-type]


HOSTILE = (
    *("", "plain", '"', "\\", '\\"', '" } UNION { ?s ?p ?o } #', "'''", '"""', "\n", "\r\n", "\t", "\u2028", "\0"),
    *(
        "\\u0022",
        "?x",
        "$x",
        "} ; DROP ALL ; INSERT DATA {",
        "#",
        "é\U0001f600",
        "%22",
        "&query=ASK",
        "+",
        '"\\' * 1000,
    ),
)


def test_hostile_values(client: Client) -> None:
    """A value is found, whatever it holds, and does nothing else."""
    values: list[Literal | IRI] = [
        *(
            literal
            for text in HOSTILE
            for literal in (Literal(text), Literal(text, language="en"), Literal(text, "http://ex/type"))
        ),
        *(Literal("01", XSD + "integer"), Literal("1", XSD + "integer"), IRI("http://ex/?a=b&c=%22#d")),
    ]
    subjects = [IRI(f"http://ex/s{i}") for i in range(len(values))]
    client.add(Triple(s, P, v) for s, v in zip(subjects, values, strict=True))
    filtered = f"SELECT ?s ?v {{ {{ ?s {P} ?o FILTER(sameTerm(?o, ?v)) }} UNION {{ ?s {Q} ?v }} }}"
    for s, v in zip(subjects, values, strict=True):
        for text in (f"SELECT ?s ?v {{ ?s {P} ?v }}", filtered):
            assert list(client.query(text, bindings={"v": v})) == [{"s": s, "v": v}]
        assert client.ask(f"ASK {{ ?s {P} ?v }}", bindings={"v": v, "s": s})
        assert list(client.construct(f"CONSTRUCT {{ ?s {Q} ?v }} WHERE {{ ?s {P} ?v }}", bindings={"v": v})) == [
            Triple(s, Q, v)
        ]
        change = f"DELETE {{ ?s {P} ?v }} INSERT {{ ?s {Q} ?v }} WHERE {{ ?s {P} ?v }}"
        result = client.update(change, bindings={"v": v})
        assert (result.added, result.deleted) == (1, 1)
    assert client.count() == client.count(predicate=Q) == len(values)


def test_pages(node: Node, client: Client) -> None:
    triples = numbered(25)
    client.add(triples)
    with Client(node.url, page_size=7) as paged:
        assert list(paged.match(predicate=P)) == sorted(triples, key=lambda t: int(t.object.python()))  # type: ignore[union-attr,arg-type]
        assert list(paged.range("spo")) == triples
        assert list(paged.range("spo", reverse=True, offset=3, limit=9)) == triples[21:12:-1]
        assert list(paged.match(offset=20, limit=100)) == triples[20:]
        assert list(paged.match(limit=0)) == []


def test_ranges(client: Client) -> None:
    triples = numbered(30)
    client.add(triples)
    pos = triples
    assert list(client.range("pos", prefix=[P], ge=Literal.of(10), lt=Literal.of(20))) == pos[10:20]
    assert list(client.range("pos", prefix=[P], gt=Literal.of(10.5), le=Literal.of(12))) == pos[11:13]
    assert list(client.range("spo", starts="<http://ex/00000")) == triples[:10]
    assert list(client.range("spo", start=[triples[3].subject], until=[triples[5].subject, P])) == triples[3:5]


def test_count_delete_match_where(client: Client) -> None:
    client.add([*numbered(5), Triple(S, P, Literal("x"), G)])
    assert client.count(predicate=P) == client.count(predicate=P, estimate=True) == 6
    assert client.count(graph=G) == 1
    assert client.count(graph=DEFAULT_GRAPH) == 5
    where = client.where(Triple(S, P, Literal("x"), G))
    assert where.stored
    assert {p.version for p in where.places if p.row == "present"} == {"spo", "pos", "osp", "gspo"}
    assert client.where(Triple(S, P, Literal("y"))).stored is False
    assert client.delete_match(graph=G).deleted == 1
    assert client.delete_match(subject=numbered(1)[0].subject).deleted == 1
    assert client.count() == 4


def test_large_lists_are_several_requests(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trefoil._calls.BATCH_BYTES", 1000)
    triples = [*numbered(50), Triple(S, P, Literal("x" * 5000))]
    assert client.add(iter(triples)).added == 51
    assert client.delete(iter(triples)).deleted == 51


def test_load(client: Client, tmp_path: Path) -> None:
    turtle = b"@prefix ex: <http://ex/> . ex:a ex:p 1, 'Zo\xc3\xab'@nl ."
    path = tmp_path / "data.ttl.gz"
    path.write_bytes(gzip.compress(turtle))
    summary = client.load(str(path))
    assert (summary.read, summary.new, summary.duplicates) == (2, 2, 0)
    assert client.load(io.BytesIO(turtle), media_type="text/turtle", graph=G).new == 2
    assert Literal("Zoë", language="nl") in {t.object for t in client.match(graph=G)}
    assert client.load([b"<b> <http", b"://ex/p> <c> ."], media_type="text/turtle", base="http://base/").new == 1
    assert client.count(subject=IRI("http://base/b")) == 1
    with pytest.raises(TrefoilError, match=r"body:2:") as e:
        client.load([b"<a:s> <a:p> <a:o> .\n<a:s> .\n"], media_type="application/n-triples")
    assert (e.value.kind, e.value.status, e.value.line) == ("syntax", 400, 2)
    kept = client.load([b"<a:s> <a:p> <a:o> .\n<a:s> .\n"], media_type="application/n-triples", keep_going=True)
    assert (kept.new, kept.rejected, kept.rejects[0].where[:7]) == (1, 1, "body:2:")
    quoted = b"<< <a:s> <a:p> <a:o> >> <a:q> <a:o> ."
    assert client.load([quoted], media_type="application/n-triples", rdf_star=True).new == 2
    assert client.count(object=TripleTerm(IRI("a:s"), IRI("a:p"), IRI("a:o"))) == 1
    with pytest.raises(TrefoilError, match="rdf-star"):
        client.load([quoted], media_type="application/n-triples")
    with pytest.raises(ValueError, match="no ending"):
        client.load("data.txt")
    with pytest.raises(ValueError, match="media type"):
        client.load(io.BytesIO(turtle))
    with pytest.raises(TypeError, match="binary"):
        client.load(io.StringIO("x"), media_type="text/turtle")  # type: ignore[arg-type]


def test_a_document_that_cannot_be_read_is_not_loaded(client: Client) -> None:
    def document() -> Iterator[bytes]:
        yield b"<a:s> <a:p> <a:o> .\n"
        raise OSError("the disk failed")

    with pytest.raises(OSError, match="the disk failed"):
        client.load(document(), media_type="application/n-triples")
    assert client.count() == 0


def test_graph_store(client: Client) -> None:
    name = "http://ex/people"
    client.put_graph(name, '<http://ex/s> <http://ex/p> "1" .', "text/turtle")
    assert client.post_graph(IRI(name), [Triple(S, P, Literal("2"))]).added == 1
    assert {t.object.value for t in client.graph(name)} == {"1", "2"}  # type: ignore[union-attr]
    client.put_graph(DEFAULT_GRAPH, [Triple(S, P, Literal("d"))])
    assert list(client.graph(DEFAULT_GRAPH)) == [Triple(S, P, Literal("d"))]
    assert {t.graph for t in client.graph(DATASET)} == {None, IRI(name)}
    assert b'"1"' in b"".join(client.graph_document(name, "text/turtle"))
    assert client.delete_graph(name).deleted == 2
    client.put_graph(DATASET, [Triple(S, P, Literal("x"), G)])
    assert list(client.match()) == [Triple(S, P, Literal("x"), G)]
    with pytest.raises(ValueError, match="cannot be deleted"):
        client.delete_graph(DATASET)


def test_links(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trefoil._calls._CALL_PAGES", 3)
    link = IRI("urn:trefoil:linksTo")
    pages = [f"http://site{i}.example/" for i in range(8)]
    client.add(Triple(IRI(pages[i]), link, IRI(pages[j])) for i in range(8) for j in range(i))
    assert client.links.degrees(pages) == list(range(8))
    assert client.links.degrees(pages, "backward") == list(range(7, -1, -1))
    assert [sorted(urls) for urls in client.links.get(pages)] == [pages[:i] for i in range(8)]
    uids = client.links.uids([*pages, "http://unknown.example/"])
    assert uids.pop() is None
    known = [uid for uid in uids if uid is not None]
    assert len(set(known)) == 8
    assert client.links.urls(known) == pages
    assert [set(of) for of in client.links.get(known, "backward")] == [set(known[i + 1 :]) for i in range(8)]
    with pytest.raises(TypeError, match="all URLs"):
        client.links.degrees([pages[0], known[0]])


def test_rows_are_streamed(client: Client) -> None:
    """50 MB of rows pass, and at no time are 4 MB of them held."""
    strings = " ".join(f'"{i}{"x" * 10_000}"' for i in range(20))
    numbers = " ".join(str(i) for i in range(250))
    tracemalloc.start()
    try:
        count = size = 0
        for row in client.query(f"SELECT ?a ?b {{ VALUES ?a {{ {strings} }} VALUES ?b {{ {numbers} }} }}"):
            count += 1
            size += len(row["a"].value)  # type: ignore[union-attr]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (count, size > 50_000_000) == (5000, True)
    assert peak < 4 << 20


def test_loads_are_streamed(client: Client) -> None:
    """32 MB are sent, and at no time are 4 MB of them held."""

    def document() -> Iterator[bytes]:
        for i in range(500):
            yield f'<a:s> <a:p> "{i}{"x" * 65_000}" .\n'.encode()

    tracemalloc.start()
    try:
        assert client.load(document(), media_type="application/n-triples").new == 500
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 4 << 20


def test_rows_that_are_left_end_the_query(client: Client) -> None:
    values = " ".join(str(i) for i in range(400))
    query = f"SELECT * {{ VALUES ?a {{ {values} }} VALUES ?b {{ {values} }} VALUES ?c {{ {values} }} }}"
    for _ in range(3):
        with client.query(query) as rows:
            assert len(next(rows)) == 3
    assert client.ask("ASK {}")


def test_token_and_password(start: Callable[..., Node], tmp_path: Path) -> None:
    (tmp_path / "token").write_text("sesame")
    guarded = start("--token-file", str(tmp_path / "token"))
    with Client(guarded.url, token="sesame") as client:
        assert client.ask("ASK {}")
    with Client(guarded.url, auth=("anybody", "sesame")) as client:
        assert client.ask("ASK {}")
    for wrong in (Client(guarded.url, token="wrong"), Client(guarded.url), Client(guarded.url, auth=("a", "wrong"))):
        with wrong, pytest.raises(TrefoilError, match="token") as e:
            wrong.add([Triple(S, P, S)])
        assert (e.value.status, e.value.kind) == (401, "unauthorized")
    # A load is refused while its body is sent, and a body that the server does not take is no other error.
    with Client(guarded.url, token="wrong") as client, pytest.raises(TrefoilError) as e:
        client.load((b'<a:s> <a:p> "x" .\n' * 1000 for _ in range(1000)), media_type="application/n-triples")
    assert e.value.status == 401


def test_user(start: Callable[..., Node], binary: str, tmp_path: Path) -> None:
    made = subprocess.run([binary, "users", "hash"], input="geheim", capture_output=True, text=True, check=True)
    (tmp_path / "users").write_text(f'[ann]\nhash = "{made.stdout.strip()}"\nroles = ["read"]\n')
    with Client(start("--users", str(tmp_path / "users")).url, auth=("ann", "geheim")) as client:
        assert client.count() == 0
        with pytest.raises(TrefoilError) as e:
            client.add([Triple(S, P, S)])
        assert (e.value.status, e.value.kind) == (403, "forbidden")


def test_certificates(start: Callable[..., Node], binary: str, tmp_path: Path) -> None:
    out = str(tmp_path)
    subprocess.run([binary, "cert", "ca", "--out", out], check=True)
    subprocess.run([binary, "cert", "node", "a", "--host", "127.0.0.1", "--out", out], check=True)
    files = {name: str(tmp_path / name) for name in ("ca.crt", "a.crt", "a.key")}
    node = start("--ca", files["ca.crt"], "--cert", files["a.crt"], "--key", files["a.key"])
    assert node.url.startswith("https://")
    with Client(node.url, verify=ssl.create_default_context(cafile=files["ca.crt"])) as client:
        assert client.ask("ASK {}")
    begun = time.monotonic()
    with Client(node.url, retries=20) as client, pytest.raises(TrefoilError, match="CERTIFICATE_VERIFY_FAILED"):
        client.ask("ASK {}")
    assert time.monotonic() - begun < 5, "another try does not make a certificate trusted"


def test_results_without_an_end_are_an_error() -> None:
    """As of a proxy that ends an answer in order after a part of it."""
    solutions = Solutions()
    for line in (b'{"head":{"vars":["a"]},"results":{"bindings":[', b'{"a":{"type":"uri","value":"a:b"}},'):
        solutions.feed(line)
    with pytest.raises(TrefoilError, match="broke off"):
        solutions.finish()
    solutions.feed(b"]}}")
    solutions.finish()


IRI_JSON = '{"type":"uri","value":"a:b"}'


def triple_json(subject: str, predicate: str, object: str) -> str:
    return f'{{"type":"triple","value":{{"subject":{subject},"predicate":{predicate},"object":{object}}}}}'


@pytest.mark.parametrize(
    "term",
    [
        '{"type":"triple","value":"a:b"}',
        '{"type":"triple","value":{"subject":%s,"predicate":%s}}' % (IRI_JSON, IRI_JSON),  # noqa: UP031
        '{"type":"quad","value":"a:b"}',
        '{"type":"literal","value":"a","xml:lang":"ar","its:dir":"up"}',
        triple_json('{"type":"literal","value":"a"}', IRI_JSON, IRI_JSON),
        triple_json(IRI_JSON, '{"type":"bnode","value":"a"}', IRI_JSON),
        triple_json(triple_json(IRI_JSON, IRI_JSON, IRI_JSON), IRI_JSON, IRI_JSON),
        '"a"',
    ],
)
def test_malformed_terms_of_results_are_an_error(term: str) -> None:
    solutions = Solutions()
    solutions.feed(b'{"head":{"vars":["a"]},"results":{"bindings":[')
    with pytest.raises(TrefoilError, match="not a node's"):
        solutions.feed(f'{{"a":{term}}},'.encode())


@pytest.mark.parametrize("depth", [100, 101, 5000, 200_000])
def test_deep_triple_terms_of_results(depth: int) -> None:
    """Terms of 100 are read. Deeper ones are a clear error, also where the parser of JSON fails."""
    before, behind = triple_json(IRI_JSON, IRI_JSON, "!").split("!")
    solutions = Solutions()
    solutions.feed(b'{"head":{"vars":["a"]},"results":{"bindings":[')
    line = f'{{"a":{before * depth}{IRI_JSON}{behind * depth}}},'.encode()
    if depth == 100:
        row = solutions.feed(line)
        assert row is not None
        assert str(row["a"]).count("<<(") == 100
        return
    with pytest.raises(TrefoilError, match="nested more than 100 deep"):
        solutions.feed(line)


def test_arguments() -> None:
    addresses: str | list[str]
    for addresses in ("127.0.0.1:7333", "ftp://h/", "http://h/?q=1", "", []):
        with pytest.raises(ValueError, match="address"):
            Client(addresses)
    for addresses in ("http://user:secret@h/", ["http://h/", "https://user@h2/"]):
        with pytest.raises(ValueError, match=r"'h2?' has a user or a password in it: give auth=") as e:
            Client(addresses, token="a")
        assert "secret" not in str(e.value)
    with pytest.raises(ValueError, match="both"):
        Client(token="a", auth=("b", "c"))
    with pytest.raises(ValueError, match="line end"):
        Client(token="a\n")
    with pytest.raises(ValueError, match="page size"):
        Client(page_size=10_001)
