"""Terms and statements."""

from __future__ import annotations

import copy
import datetime
import decimal
import math
import pickle
import random
from typing import Any

import pytest

from trefoil import IRI, XSD, Blank, Literal, Triple, TripleTerm
from trefoil.terms import (
    MAX_DEPTH,
    RDF_DIR_LANG_STRING,
    RDF_LANG_STRING,
    XSD_STRING,
    BaseDirection,
    Term,
    Value,
    parse_statement,
    statements,
)

TRICKY = [
    "",
    "a",
    '"',
    "\\",
    "\\u0041",
    "\n",
    "\r",
    "\t",
    "\x00",
    "\x7f",
    "\x85",
    "\u2028",
    "é",
    "日本",
    "😀",
    "@en",
    "^^",
    " .",
    "#",
    ")>>",
    "<<( ",
]


SUBJECTS: list[IRI | Blank] = [IRI("a:s"), Blank("s")]
DIRECTIONS: list[BaseDirection] = ["ltr", "rtl"]


def random_term(r: random.Random) -> Term:
    text = "".join(r.choices(TRICKY, k=r.randrange(5)))
    match r.randrange(7):
        case 0:
            return IRI("http://ex/" + r.choice(["a", "é", "%20", "#x", ")"]))
        case 1:
            return Blank(r.choice(["a", "b0", "x.y-z", "é"]))
        case 2:
            return Literal(text, language=r.choice(["en", "zh-Hant-TW"]))
        case 3:
            return Literal(text, XSD + "integer")
        case 4:
            return Literal(text, language=r.choice(["ar", "zh-Hant-TW"]), direction=r.choice(DIRECTIONS))
        case 5:
            return TripleTerm(r.choice(SUBJECTS), IRI("a:p"), random_term(r))
    return Literal(text)


def test_statements_round_trip() -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    r = random.Random(seed)
    for _ in range(3000):
        t = Triple(r.choice(SUBJECTS), IRI("a:p"), random_term(r), r.choice([None, IRI("a:g"), Blank("g")]))
        line = statements([t])
        assert line.count(b"\n") == 1
        assert parse_statement(line.rstrip(b"\n")) == t


def test_parse_escapes_and_comments() -> None:
    assert parse_statement(rb'_:a <a:p> "\u00e9\U0001F600\t\'"^^<a:d> . # x') == Triple(
        Blank("a"), IRI("a:p"), Literal("é😀\t'", "a:d")
    )
    assert parse_statement(b"<a:s> <a:p> <<(_:s <a:p> _:o)>>. # )>> .") == Triple(
        IRI("a:s"), IRI("a:p"), TripleTerm(Blank("s"), IRI("a:p"), Blank("o"))
    )
    assert parse_statement(b"# a comment") is None
    assert parse_statement(b"  ") is None


@pytest.mark.parametrize(
    "line",
    [
        b"<a:s> <a:p> .",
        b'"s" <a:p> <a:o> .',
        b'<a:s> <a:p> "o .',
        b"<a:s> <a:p> <a:o>",
        b'<a:s> <a:p> <a:o> "g" .',
        b'<a:s> <a:p> "o"@ar--RTL .',
        b'<a:s> <a:p> "o"@ar--up .',
        b"<<( <a:s> <a:p> <a:o> )>> <a:p> <a:o> .",
        b"<a:s> <a:p> <a:o> <<( <a:s> <a:p> <a:o> )>> .",
        b"<a:s> <a:p> <<( <a:s> <a:p> <a:o> .",
        b"<a:s> <a:p> <<( <a:s> <a:p> <a:o> )>> )>> .",
        b"<a:s> <a:p> <<( <a:s> <a:p> )>> .",
        b"<a:s> <a:p> <<( <<( <a:s> <a:p> <a:o> )>> <a:p> <a:o> )>> .",
        b"<a:s> <a:p> << <a:s> <a:p> <a:o> >> .",
    ],
)
def test_parse_malformed(line: bytes) -> None:
    with pytest.raises(ValueError, match="no statement"):
        parse_statement(line)


@pytest.mark.parametrize(
    "term",
    [
        IRI(""),
        IRI("a:> <b"),
        IRI("a:\n"),
        IRI("a:\ud800"),
        Blank(""),
        Blank("a b"),
        Blank("a\n"),
        Literal("\ud800"),
        Literal("x", "a b"),
        Literal("x", language="e n"),
        Literal("x", language="ar--rtl"),
        TripleTerm(IRI("a:s"), IRI("a:p"), IRI("a:> <b")),
        TripleTerm(IRI("a:s"), IRI("a:p"), TripleTerm(Blank("a b"), IRI("a:p"), IRI("a:o"))),
    ],
)
def test_malformed_terms_have_no_text(term: Term) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        str(term)


def test_malformed_triples_have_no_text() -> None:
    s, p, literal, blank = IRI("a:s"), IRI("a:p"), Literal("s"), Blank("p")
    term = TripleTerm(s, p, literal)
    for wrong in ((literal, p, s), (s, blank, s), (s, p, "o"), (term, p, s), (s, term, s)):
        for make in (Triple, TripleTerm):
            with pytest.raises(ValueError, match=r"a subject is|an object is"):
                str(make(*wrong))
    for graph in (literal, term):
        with pytest.raises(ValueError, match="a graph is"):
            str(Triple(s, p, s, graph))  # type: ignore[arg-type]


def test_triple_terms() -> None:
    term = TripleTerm(Blank("s"), IRI("a:p"), Literal("x", language="ar", direction="rtl"))
    outer = TripleTerm(IRI("a:r"), IRI("a:p"), term)
    assert str(outer) == '<<( <a:r> <a:p> <<( _:s <a:p> "x"@ar--rtl )>> )>>'
    assert {outer: 1}[TripleTerm(IRI("a:r"), IRI("a:p"), copy.deepcopy(term))] == 1
    assert term != TripleTerm(Blank("s"), IRI("a:p"), Literal("x", language="ar"))
    assert "depth" not in repr(term)
    with pytest.raises(AttributeError):
        term.subject = IRI("a:x")  # type: ignore[misc]


def nested(depth: int) -> bytes:
    return b"<a:s> <a:p> " + b"<<( <a:s> <a:p> " * depth + b"<a:o>" + b" )>>" * depth + b" ."


def test_deep_triple_terms() -> None:
    """A term of MAX_DEPTH works in every way, and a deeper one is an error of its own."""
    triple = parse_statement(nested(MAX_DEPTH))
    assert triple is not None
    assert parse_statement(nested(MAX_DEPTH)) == triple
    assert isinstance(triple.object, TripleTerm)
    assert statements([triple]) == nested(MAX_DEPTH) + b"\n"
    assert pickle.loads(pickle.dumps(triple)) == copy.deepcopy(triple) == triple
    assert len({triple, copy.copy(triple)}) == 1
    assert repr(triple).count("TripleTerm") == MAX_DEPTH
    with pytest.raises(ValueError, match="more than 100 deep"):
        TripleTerm(IRI("a:s"), IRI("a:p"), triple.object)
    for depth in (MAX_DEPTH + 1, 100_000):
        with pytest.raises(ValueError, match="more than 100 deep"):
            parse_statement(nested(depth))


def test_languages_are_in_lower_case() -> None:
    assert Literal("x", language="zh-Hant") == Literal("x", language="ZH-HANT")
    assert str(Literal("x", language="EN", direction="ltr")) == '"x"@en--ltr'


def test_language_decides_the_datatype() -> None:
    assert Literal("x", language="de").datatype == RDF_LANG_STRING
    assert Literal("x").datatype == XSD_STRING
    assert Literal("x", language="ar", direction="rtl").datatype == RDF_DIR_LANG_STRING
    wrong: list[dict[str, Any]] = [
        {"datatype": RDF_LANG_STRING},
        {"datatype": RDF_DIR_LANG_STRING},
        {"datatype": XSD + "integer", "language": "en"},
        {"datatype": RDF_DIR_LANG_STRING, "language": "en"},
        {"datatype": RDF_LANG_STRING, "language": "en", "direction": "ltr"},
        {"direction": "ltr"},
        {"language": "ar", "direction": "RTL"},
    ]
    for arguments in wrong:
        with pytest.raises(ValueError, match=r"language|direction"):
            Literal("x", **arguments)


UTC = datetime.timezone.utc


@pytest.mark.parametrize(
    ("value", "lexical", "datatype"),
    [
        ("x", "x", "string"),
        (True, "true", "boolean"),
        (2**70, "1180591620717411303424", "integer"),
        (1.5, "1.5", "double"),
        (-math.inf, "-INF", "double"),
        (decimal.Decimal("1E+2"), "100", "decimal"),
        (datetime.date(2026, 2, 3), "2026-02-03", "date"),
        (datetime.datetime(2026, 2, 3, 4, 5, 6, 7, UTC), "2026-02-03T04:05:06.000007+00:00", "dateTime"),
        (datetime.datetime(1500, 2, 3), "1500-02-03T00:00:00", "dateTime"),
    ],
)
def test_values_round_trip(value: Value, lexical: str, datatype: str) -> None:
    literal = Literal.of(value)
    assert literal == Literal(lexical, XSD + datatype)
    assert literal.python() == value
    assert type(literal.python()) is type(value)


@pytest.mark.parametrize(
    ("lexical", "datatype", "value"),
    [
        (" 07 ", "integer", 7),
        ("7", "unsignedByte", 7),
        ("seven", "integer", "seven"),
        ("1_000", "integer", "1_000"),
        ("9" * 5000, "integer", "9" * 5000),
        ("1e3", "decimal", "1e3"),
        ("1e3", "float", 1000.0),
        ("inf", "double", "inf"),
        ("1", "boolean", True),
        ("yes", "boolean", "yes"),
        ("2026-02-30", "date", "2026-02-30"),
        ("20260203", "date", "20260203"),
        ("2026-02-03Z", "date", "2026-02-03Z"),
        ("2026-02-03T04:05:06.1234567Z", "dateTime", datetime.datetime(2026, 2, 3, 4, 5, 6, 123456, UTC)),
        ("-0044-03-15T00:00:00", "dateTime", "-0044-03-15T00:00:00"),
        ("x", "anyURI", "x"),
    ],
)
def test_values_of_literals(lexical: str, datatype: str, value: Value) -> None:
    got = Literal(lexical, XSD + datatype).python()
    assert got == value
    assert type(got) is type(value)


def test_values_without_a_literal() -> None:
    for value in (decimal.Decimal("NaN"), None, b"x"):
        with pytest.raises(ValueError, match="no literal"):
            Literal.of(value)  # type: ignore[arg-type]
    assert Literal.of(math.nan).value == "NaN"
