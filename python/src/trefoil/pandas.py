"""Tables: the result of a SELECT as a DataFrame of pandas.

Each variable is a column. Its type follows from its values:

    xsd:integer and its kin           Int64, or object if a value does not fit
    xsd:double, float, decimal        Float64, also if some are integers
    xsd:boolean                       boolean
    xsd:dateTime                      datetime64, in UTC if all have a time zone; object if only some have
    xsd:date                          datetime64
    other literals, IRIs, blank nodes string: the text, the IRI, or "_:" and the label
    triple terms                      string: N-Triples syntax
    several of these                  object, with the values in Python

A text has no language and no base direction. What is unbound is missing (NA or NaT). A value that is malformed for its
datatype is text.
"""

from __future__ import annotations

import datetime
import decimal
from typing import Any

import numpy
import pandas as pd

from ._calls import Row
from .aio import AsyncRows
from .client import Rows
from .terms import IRI, Blank, Literal, Term, TripleTerm


def dataframe(rows: Rows) -> pd.DataFrame:
    """Return the rows as a table: dataframe(client.query("SELECT ..."))."""
    with rows:
        return _frame(rows.variables, list(rows))


async def async_dataframe(rows: AsyncRows) -> pd.DataFrame:
    """Return the rows as a table: await async_dataframe(await client.query("SELECT ..."))."""
    async with rows:
        return _frame(rows.variables, [row async for row in rows])


def _frame(variables: tuple[str, ...], rows: list[Row]) -> pd.DataFrame:
    columns = {name: _column([_value(row.get(name)) for row in rows]) for name in variables}
    return pd.DataFrame(columns, index=pd.RangeIndex(len(rows)), columns=pd.Index(variables, dtype="str"))


def _value(term: Term | None) -> Any:
    match term:
        case IRI():
            return term.value
        case Blank() | TripleTerm():
            return str(term)
        case Literal():
            return term.python()
    return None


def _column(values: list[Any]) -> pd.Series[Any]:
    kinds = {type(v) for v in values if v is not None}
    if kinds <= {str}:
        return pd.Series(values, dtype="string")
    if kinds == {bool}:
        return pd.Series(values, dtype="boolean")
    if kinds == {int} and all(v is None or -(2**63) <= v < 2**63 for v in values):
        return pd.Series(values, dtype="Int64")
    if kinds <= {int, float, decimal.Decimal} and kinds != {int}:
        return pd.Series(_floats(values))
    if kinds == {datetime.date} or (kinds == {datetime.datetime} and _same_zones(values)):
        utc = kinds == {datetime.datetime} and next(v for v in values if v is not None).tzinfo is not None
        try:
            return pd.Series(pd.to_datetime(pd.Series(values, dtype="object"), utc=utc))
        except pd.errors.OutOfBoundsDatetime:  # of pandas 2, for years like 1500
            pass
    return pd.Series(values, dtype="object")


def _floats(values: list[Any]) -> pd.arrays.FloatingArray:
    """Return an array in which None is missing, and NaN is a number, as in xsd:double."""
    numbers = numpy.array([0.0 if v is None else float(v) for v in values])
    return pd.arrays.FloatingArray(numbers, numpy.array([v is None for v in values]))


def _same_zones(values: list[Any]) -> bool:
    return len({v.tzinfo is None for v in values if v is not None}) == 1
