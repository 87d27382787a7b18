"""Terms and triples, and their N-Quads text."""

from __future__ import annotations

import datetime
import decimal
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

XSD = "http://www.w3.org/2001/XMLSchema#"
XSD_STRING = XSD + "string"
RDF_LANG_STRING = "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"

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
    """A literal: its lexical form as written, its datatype, and a language tag or "".

    With a language the datatype is rdf:langString. Two literals are equal if they are the same term: "01" and
    "1" of xsd:integer differ.
    """

    value: str
    datatype: str = XSD_STRING
    language: str = ""

    def __post_init__(self) -> None:
        if self.language and self.datatype == XSD_STRING:
            object.__setattr__(self, "datatype", RDF_LANG_STRING)
        if bool(self.language) != (self.datatype == RDF_LANG_STRING):
            raise ValueError(f"a literal with the language {self.language!r} and the datatype {self.datatype}")

    def __str__(self) -> str:
        """Return the literal in N-Triples syntax. A malformed language or datatype is a ValueError."""
        text = f'"{_ESCAPED.sub(_escape, self.value)}"'
        if self.language:
            if not _LANGUAGE.fullmatch(self.language):
                raise ValueError(f"{self.language!r} is no language tag")
            return f"{text}@{self.language}"
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


Term: TypeAlias = "IRI | Blank | Literal"


@dataclass(frozen=True, slots=True)
class Triple:
    """A triple; graph is None in the default graph."""

    subject: IRI | Blank
    predicate: IRI
    object: Term
    graph: IRI | Blank | None = None

    def __str__(self) -> str:
        """Return the triple as a statement of N-Quads. A malformed term is a ValueError."""
        if not isinstance(self.subject, (IRI, Blank)) or not isinstance(self.predicate, IRI):
            raise ValueError(f"{self!r}: a subject is an IRI or Blank, a predicate an IRI")
        if not isinstance(self.object, (IRI, Blank, Literal)) or not isinstance(self.graph, (IRI, Blank, type(None))):
            raise ValueError(f"{self!r}: an object is an IRI, Blank or Literal, a graph an IRI, Blank or None")
        graph = "" if self.graph is None else f"{self.graph} "
        return f"{self.subject} {self.predicate} {self.object} {graph}."


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

_TERM = r"""<([^<>\s]*)>|_:([^\s<>"]+?)|"([^"\\]*(?:\\.[^"\\]*)*)"(?:@([a-zA-Z0-9-]+)|\^\^<([^<>\s]*)>)?"""
_STATEMENT = re.compile(rf"\s*(?:{_TERM})\s+<([^<>\s]*)>\s+(?:{_TERM})\s*(?:(?:{_TERM})\s*)?\.\s*(?:#.*)?", re.ASCII)
_UNESCAPED = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))")


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    return _UNESCAPED.sub(lambda m: chr(int(m[1] or m[2], 16)) if m[1] or m[2] else _ESCAPES[m[3]], text)


def _term(groups: tuple[str | None, ...]) -> Term | None:
    iri, label, text, language, datatype = groups
    if iri is not None:
        return IRI(_unescape(iri))
    if label is not None:
        return Blank(label)
    if text is None:
        return None
    return Literal(_unescape(text), XSD_STRING if datatype is None else _unescape(datatype), language or "")


def parse_statement(line: bytes) -> Triple | None:
    """Return the triple of a line of N-Quads, or None if the line has none."""
    text = line.decode()
    found = _STATEMENT.fullmatch(text)
    if not found:
        if not text.strip() or text.lstrip().startswith("#"):
            return None
        raise ValueError(f"the line is no statement: {text[:200]!r}")
    groups = found.groups()
    subject, predicate, graph = _term(groups[:5]), IRI(_unescape(groups[5] or "")), _term(groups[11:])
    value = _term(groups[6:11])
    if isinstance(subject, Literal) or isinstance(graph, Literal) or subject is None or value is None:
        raise ValueError(f"the line is no statement: {text[:200]!r}")
    return Triple(subject, predicate, value, graph)


def statements(triples: Iterable[Triple]) -> bytes:
    """Return triples as an N-Quads document."""
    return "".join(f"{t}\n" for t in triples).encode()
