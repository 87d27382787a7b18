"""Tables of pandas."""

from __future__ import annotations

import asyncio

import pytest
from conftest import Node

pd = pytest.importorskip("pandas")
from trefoil import AsyncClient, Client  # noqa: E402
from trefoil.pandas import async_dataframe, dataframe  # noqa: E402

COLUMNS = {
    "integer": ("1 UNDEF '3'^^xsd:byte", "Int64", [1, None, 3]),
    "huge": ("1 1180591620717411303424 UNDEF", "object", [1, 2**70, None]),
    "mixed_numbers": ("1 2.5 1e3", "Float64", [1.0, 2.5, 1000.0]),
    "decimal": ("UNDEF 0.1 2.50", "Float64", [None, 0.1, 2.5]),
    "boolean": ("true UNDEF false", "boolean", [True, None, False]),
    "text": ("'Zoë'@nl 'b' UNDEF", "string", ["Zoë", "b", None]),
    "iri": ("<http://ex/a> UNDEF <http://ex/b>", "string", ["http://ex/a", None, "http://ex/b"]),
    "none": ("UNDEF UNDEF UNDEF", "string", [None, None, None]),
    "direction": ("'שלום'@he--rtl UNDEF 'b'@en", "string", ["שלום", None, "b"]),
    "triple_terms": (
        "<<( <a:s> <a:p> 'é\"'@ar--rtl )>> UNDEF <a:o>",
        "string",
        ['<<( <a:s> <a:p> "é\\""@ar--rtl )>>', None, "a:o"],
    ),
    "mixed": ("'a' 2 UNDEF", "object", ["a", 2, None]),
    "malformed": ("'1'^^xsd:integer 'x'^^xsd:integer 2", "object", [1, "x", 2]),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_types_of_columns(client: Client, name: str) -> None:
    values, dtype, want = COLUMNS[name]
    prefix = "PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>"
    frame = dataframe(client.query(f"{prefix} SELECT ?x {{ VALUES ?x {{ {values} }} }}"))
    assert list(frame.columns) == ["x"]
    assert str(frame["x"].dtype) == dtype
    assert [None if pd.isna(v) else v for v in frame["x"]] == want


def test_times(client: Client) -> None:
    rows = client.query("""PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> SELECT * { VALUES (?zone ?local ?day ?either) {
        ("2026-01-02T03:04:05+02:00"^^xsd:dateTime "2026-01-02T03:04:05"^^xsd:dateTime "2026-01-02"^^xsd:date "2026-01-02T03:04:05Z"^^xsd:dateTime)
        (UNDEF UNDEF UNDEF "2026-01-02T03:04:05"^^xsd:dateTime) } }""")
    frame = dataframe(rows)
    assert str(frame["zone"].dtype).startswith("datetime64[")
    assert frame["zone"][0] == pd.Timestamp("2026-01-02T01:04:05Z")
    assert frame["local"][0] == pd.Timestamp("2026-01-02T03:04:05")
    assert frame["day"][0] == pd.Timestamp("2026-01-02")
    assert frame["local"].isna().tolist() == [False, True]
    assert frame["day"].isna().tolist() == [False, True]
    assert str(frame["either"].dtype) == "object"


def test_nan_is_a_number(client: Client) -> None:
    frame = dataframe(
        client.query('SELECT ?x { VALUES ?x { UNDEF "NaN"^^<http://www.w3.org/2001/XMLSchema#double> 1e0 } }')
    )
    assert frame["x"].isna().tolist()[0] is True
    assert frame["x"].array._mask.tolist() == [True, False, False]


def test_empty_and_async(node: Node, client: Client) -> None:
    frame = dataframe(client.query("SELECT ?a ?b { ?a <http://ex/none> ?b }"))
    assert (list(frame.columns), len(frame)) == (["a", "b"], 0)
    assert len(dataframe(client.query("SELECT * { VALUES () { () () } }"))) == 2

    async def main() -> None:
        async with AsyncClient(node.url) as c:
            frame = await async_dataframe(await c.query("SELECT ?a { VALUES ?a { 1 2 } }"))
            assert frame["a"].sum() == 3

    asyncio.run(main())
