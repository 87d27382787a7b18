"""Terms and triples, and their N-Quads text."""

from __future__ import annotations

import datetime
import decimal
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, TypeAlias
from typing import Literal as OneOf

XSD = "http://www.w3.org/2001/XMLSchema#"
XSD_STRING = XSD + "string"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDF_LANG_STRING = RDF + "langString"
RDF_DIR_LANG_STRING = RDF + "dirLangString"

MAX_DEPTH: Final = 100
"""Triple terms are nested at most this deep, because Python compares, hashes and pickles them by recursion."""

BaseDirection: TypeAlias = OneOf["", "ltr", "rtl"]

Value: TypeAlias = "str | bool | int | float | decimal.Decimal | datetime.datetime | datetime.date"


@dataclass(frozen=True, slots=True)
class IRI:
    """An absolute IRI, without brackets."""

    value: str

    def __str__(self) -> str:
        """Return the IRI in N-Triples syntax. A character that it must not have is a ValueError."""
        if _BAD_IRI.search(self.value) or not self.value:
            raise ValueError(f'{self.value!r} is no IRI: it is empty, or has a space or one of <>"{{}}|^`\\')
        return f"<{self.value}>"


@dataclass(frozen=True, slots=True)
class Blank:
    """A blank node by its label, without "_:"."""

    label: str

    def __str__(self) -> str:
        """Return the blank node in N-Triples syntax. A malformed label is a ValueError."""
        if not _LABEL.fullmatch(self.label):
            raise ValueError(f"{self.label!r} is no label of a blank node")
        return f"_:{self.label}"


@dataclass(frozen=True, slots=True)
class Literal:
    """A literal: its lexical form as written, its datatype, a language tag or "", and a base direction or "".

    With a language the datatype is rdf:langString, and with a direction, "ltr" or "rtl", it is rdf:dirLangString. Two
    literals are equal if they are the same term: "01" and "1" of xsd:integer differ. A language gets lower case,
    as on the server.
    """

    value: str
    datatype: str = XSD_STRING
    language: str = ""
    direction: BaseDirection = ""

    def __post_init__(self) -> None:
        if self.direction not in ("", "ltr", "rtl"):
            raise ValueError(f"the direction {self.direction!r} of a literal: it must be 'ltr', 'rtl' or ''")
        if self.direction and not self.language:
            raise ValueError(f"a literal with the direction {self.direction!r} and no language: give language=")
        if self.language:
            object.__setattr__(self, "language", self.language.lower())
            datatype = RDF_DIR_LANG_STRING if self.direction else RDF_LANG_STRING
            if self.datatype == XSD_STRING:
                object.__setattr__(self, "datatype", datatype)
            matches = self.datatype == datatype
        else:
            matches = self.datatype not in (RDF_LANG_STRING, RDF_DIR_LANG_STRING)
        if not matches:
            what = f"the language {self.language!r}, the direction {self.direction!r} and the datatype {self.datatype}"
            raise ValueError(f"a literal with {what}, which do not go together")

    def __str__(self) -> str:
        """Return the literal in N-Triples syntax. A malformed language or datatype is a ValueError."""
        text = f'"{_ESCAPED.sub(_escape, self.value)}"'
        if self.language:
            if not _LANGUAGE.fullmatch(self.language):
                raise ValueError(f"{self.language!r} is no language tag; a direction goes into direction=")
            return f"{text}@{self.language}--{self.direction}" if self.direction else f"{text}@{self.language}"
        return text if self.datatype == XSD_STRING else f"{text}^^{IRI(self.datatype)}"

    @classmethod
    def of(cls, value: Value) -> Literal:
        """Return the literal of a Python value: a str, bool, int, float, Decimal, datetime or date."""
        match value:
            case bool():
                return cls("true" if value else "false", XSD + "boolean")
            case str():
                return cls(value)
            case int():
                return cls(str(value), XSD + "integer")
            case float():
                special = {"inf": "INF", "-inf": "-INF", "nan": "NaN"}
                return cls(special.get(repr(value), repr(value)), XSD + "double")
            case decimal.Decimal() if value.is_finite():
                return cls(f"{value:f}", XSD + "decimal")
            case datetime.datetime():
                return cls(value.isoformat(), XSD + "dateTime")
            case datetime.date():
                return cls(value.isoformat(), XSD + "date")
        raise ValueError(f"there is no literal for {value!r}")

    def python(self) -> Value:
        """Return the value in Python. It is the lexical form if Python or XSD has no such value."""
        convert = _CONVERT.get(self.datatype)
        try:
            return convert(self.value.strip(" \t\r\n")) if convert else self.value
        except (ValueError, ArithmeticError):
            return self.value


@dataclass(frozen=True, slots=True)
class TripleTerm:
    """A triple as a term, of RDF 1.2. Only an object is a triple term, and its own object may be one, too.

    A triple term does not say that its triple is stored. It is nested at most MAX_DEPTH deep.
    """

    subject: IRI | Blank
    predicate: IRI
    object: Term
    depth: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        depth = 1 + self.object.depth if isinstance(self.object, TripleTerm) else 1
        if depth > MAX_DEPTH:
            raise TooDeep(f"triple terms are nested more than {MAX_DEPTH} deep")
        object.__setattr__(self, "depth", depth)

    def __str__(self) -> str:
        """Return the triple term in N-Triples syntax. A malformed term is a ValueError."""
        return f"<<( {_parts(self)} )>>"


class TooDeep(ValueError):
    """Triple terms are nested more than MAX_DEPTH deep."""


Term: TypeAlias = "IRI | Blank | Literal | TripleTerm"


@dataclass(frozen=True, slots=True)
class Triple:
    """A triple; graph is None in the default graph."""

    subject: IRI | Blank
    predicate: IRI
    object: Term
    graph: IRI | Blank | None = None

    def __str__(self) -> str:
        """Return the triple as a statement of N-Quads. A malformed term is a ValueError."""
        if not isinstance(self.graph, (IRI, Blank, type(None))):
            raise ValueError(f"{self!r}: a graph is an IRI, Blank or None")
        graph = "" if self.graph is None else f"{self.graph} "
        return f"{_parts(self)} {graph}."


def _parts(triple: Triple | TripleTerm) -> str:
    """Return subject, predicate and object in N-Triples syntax."""
    if not isinstance(triple.subject, (IRI, Blank)) or not isinstance(triple.predicate, IRI):
        raise ValueError(f"{triple!r}: a subject is an IRI or Blank, a predicate an IRI")
    if not isinstance(triple.object, (IRI, Blank, Literal, TripleTerm)):
        raise ValueError(f"{triple!r}: an object is an IRI, Blank, Literal or TripleTerm")
    return f"{triple.subject} {triple.predicate} {triple.object}"


def has_blank(term: Term) -> bool:
    """Return whether a term is a blank node, or a triple term that has one."""
    while isinstance(term, TripleTerm):
        if isinstance(term.subject, Blank):
            return True
        term = term.object
    return isinstance(term, Blank)


_BAD_IRI = re.compile(r'[\x00-\x20<>"{}|^`\\\ud800-\udfff]')
_LABEL = re.compile(r"[\w:](?:[\w.:·-]*[\w:·-])?")  # \w has some letters more; the node rejects them
_LANGUAGE = re.compile(r"[a-zA-Z]+(?:-[a-zA-Z0-9]+)*")
_ESCAPED = re.compile(r'["\\\n\r\ud800-\udfff]')
_ESCAPES = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f", '"': '"', "'": "'", "\\": "\\"}


def _escape(found: re.Match[str]) -> str:
    char = found.group()
    if "\ud800" <= char <= "\udfff":
        raise ValueError(f"a literal has a half of a surrogate pair: {char!r}")
    return {"\n": "\\n", "\r": "\\r"}.get(char, "\\" + char)


def _integer(text: str) -> int:
    if not re.fullmatch(r"[+-]?[0-9]{1,4000}", text):  # int rejects more digits
        raise ValueError(text)
    return int(text)


def _decimal(text: str) -> decimal.Decimal:
    if not re.fullmatch(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)", text):
        raise ValueError(text)
    return decimal.Decimal(text)


def _double(text: str) -> float:
    if not re.fullmatch(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?INF|NaN", text):
        raise ValueError(text)
    return float(text)


def _boolean(text: str) -> bool:
    if text not in ("true", "1", "false", "0"):
        raise ValueError(text)
    return text in ("true", "1")


def _date(text: str) -> datetime.date:
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", text, re.ASCII):  # Python reads other forms, too
        raise ValueError(text)
    return datetime.date.fromisoformat(text)


def _datetime(text: str) -> datetime.datetime:
    found = re.fullmatch(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,6})\d*)?(Z|[+-]\d\d:\d\d)?", text, re.ASCII)
    if not found:
        raise ValueError(text)
    whole, fraction, zone = found.groups()
    text = f"{whole}.{(fraction or '0'):0<6}{'+00:00' if zone == 'Z' else zone or ''}"
    return datetime.datetime.fromisoformat(text)


# The datatypes that XSD derives from integer.
_INTEGERS = [
    "integer",
    "long",
    "int",
    "short",
    "byte",
    "nonNegativeInteger",
    "positiveInteger",
    "nonPositiveInteger",
    "negativeInteger",
    "unsignedLong",
    "unsignedInt",
    "unsignedShort",
    "unsignedByte",
]
_CONVERT: dict[str, Callable[[str], Value]] = {
    **{XSD + name: _integer for name in _INTEGERS},
    XSD + "decimal": _decimal,
    XSD + "double": _double,
    XSD + "float": _double,
    XSD + "boolean": _boolean,
    XSD + "dateTime": _datetime,
    XSD + "dateTimeStamp": _datetime,
    XSD + "date": _date,
}

_NODE = r"""<([^<>\s]*)>|_:([^\s<>"()]*[^\s<>"().])"""
_STRING = r""""([^"\\]*(?:\\.[^"\\]*)*)"(?:@([a-zA-Z]+(?:-[a-zA-Z0-9]+)*)(?:--(ltr|rtl))?|\^\^<([^<>\s]*)>)?"""
# A statement is one of _PARTS and an _END. For triple terms there are more of _PARTS, and a _CLOSE for each.
_PARTS = re.compile(rf"\s*(?:{_NODE})\s+<([^<>\s]*)>\s+(?:{_NODE}|{_STRING}|<<\()", re.ASCII)
_CLOSE = re.compile(r"\s*\)>>", re.ASCII)
_END = re.compile(rf"\s*(?:(?:{_NODE})\s*)?\.\s*(?:#.*)?", re.ASCII)
_UNESCAPED = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))")


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    return _UNESCAPED.sub(lambda m: chr(int(m[1] or m[2], 16)) if m[1] or m[2] else _ESCAPES[m[3]], text)


def _node(iri: str | None, label: str | None) -> IRI | Blank | None:
    if iri is not None:
        return IRI(_unescape(iri))
    return None if label is None else Blank(label)


def _literal(text: str, language: str | None, direction: str | None, datatype: str | None) -> Literal:
    if language is not None:
        way: BaseDirection = "" if direction is None else "rtl" if direction == "rtl" else "ltr"
        return Literal(_unescape(text), language=language, direction=way)
    return Literal(_unescape(text), XSD_STRING if datatype is None else _unescape(datatype))


def parse_statement(line: bytes) -> Triple | None:
    """Return the triple of a line of N-Quads, or None if the line has none."""
    text = line.decode()
    # 1. Read the parts. If the object is a triple term, its parts follow.
    around: list[tuple[IRI | Blank, IRI]] = []
    value: Term | None = None
    at = 0
    while value is None:
        if not (found := _PARTS.match(text, at)):
            if not text.strip() or text.lstrip().startswith("#"):
                return None
            raise _no_statement(text)
        at = found.end()
        groups = found.groups()
        subject, predicate = _node(*groups[:2]), IRI(_unescape(groups[2]))
        value = _node(*groups[3:5]) if groups[5] is None else _literal(*groups[5:])
        assert subject is not None  # one of its groups is always there
        around.append((subject, predicate))
    # 2. Close the triple terms, the innermost first.
    while len(around) > 1:
        if not (found := _CLOSE.match(text, at)):
            raise _no_statement(text)
        at = found.end()
        value = TripleTerm(*around.pop(), value)
    # 3. Read the graph.
    if not (found := _END.fullmatch(text, at)):
        raise _no_statement(text)
    return Triple(*around.pop(), value, _node(*found.groups()))


def _no_statement(text: str) -> ValueError:
    return ValueError(f"the line is no statement: {text[:200]!r}")


def statements(triples: Iterable[Triple]) -> bytes:
    """Return triples as an N-Quads document."""
    return "".join(f"{t}\n" for t in triples).encode()
