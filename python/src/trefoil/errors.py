"""Errors."""

from __future__ import annotations

import json
from typing import Any


class TrefoilError(Exception):
    """A request failed.

    kind is the node's name of the error (docs/api/errors.md lists them), such as "syntax" or "unauthorized". It is
    "connection" if no node was reached, "broken-off" if an answer ended too early, and "" if something else than
    a node answered. status is the HTTP status, or 0.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int = 0,
        kind: str = "",
        where: str = "",
        line: int = 0,
        column: int = 0,
        done: int = 0,
        begun: bool = False,
    ) -> None:
        super().__init__(f"{where}: {message}" if where else message)
        self.message = message
        self.status = status
        self.kind = kind
        self.where = where  # the parameter, or source:line:column
        self.line, self.column = line, column  # of a malformed query or document, from 1; or 0
        self.done = done  # triples that were changed before the error, and stay changed
        self.begun = begun  # whether a part of a change was written


class UnknownOutcome(TrefoilError):
    """A change may be done, be done in part, or be done later. Read before you send it again."""


def error_of(status: int, body: bytes) -> TrefoilError:
    """Return the error that an answer has."""
    try:
        wire: dict[str, Any] = json.loads(body)["error"]
        kind, message = str(wire["kind"]), str(wire["message"])
    except (ValueError, KeyError, TypeError):
        text = body[:200].decode(errors="replace").strip()
        return TrefoilError(f"HTTP status {status}: {text}", status=status)
    make = UnknownOutcome if kind == "unknown-outcome" else TrefoilError
    return make(
        message,
        status=status,
        kind=kind,
        where=str(wire.get("where", "")),
        line=int(wire.get("line", 0)),
        column=int(wire.get("column", 0)),
        done=int(wire.get("done", 0)),
        begun=bool(wire.get("begun", False)),
    )
