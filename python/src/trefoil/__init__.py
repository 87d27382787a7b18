"""Client of trefoil, an ordered store for RDF triples.

Client has blocking calls, AsyncClient is for asyncio. Module trefoil.pandas makes tables of results, module
trefoil.rdflib converts terms and is a store of rdflib.
"""

from ._calls import (
    DATASET,
    DEFAULT_GRAPH,
    AddResult,
    DeleteResult,
    GraphResult,
    LoadSummary,
    Place,
    Reject,
    Row,
    UpdateResult,
    Whereabouts,
)
from .aio import AsyncClient, AsyncLinks, AsyncRows
from .client import Client, Links, Rows
from .errors import TrefoilError, UnknownOutcome
from .terms import IRI, XSD, Blank, Literal, Term, Triple, TripleTerm

__all__ = [
    "DATASET",
    "DEFAULT_GRAPH",
    "IRI",
    "XSD",
    "AddResult",
    "AsyncClient",
    "AsyncLinks",
    "AsyncRows",
    "Blank",
    "Client",
    "DeleteResult",
    "GraphResult",
    "Links",
    "Literal",
    "LoadSummary",
    "Place",
    "Reject",
    "Row",
    "Rows",
    "Term",
    "TrefoilError",
    "Triple",
    "TripleTerm",
    "UnknownOutcome",
    "UpdateResult",
    "Whereabouts",
]
