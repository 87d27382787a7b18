"""Documents that are sent while they are read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import BinaryIO

_PIECE = 1 << 18


def _checked(piece: object) -> bytes:
    """Return the piece. A text file would have lines without their encoding."""
    if not isinstance(piece, bytes):
        raise TypeError(f"a document has pieces of bytes, not of {type(piece).__name__}; open files as binary ones")
    return piece


def pieces(source: BinaryIO | Iterable[bytes]) -> Iterator[bytes]:
    """Yield a document in pieces."""
    read = getattr(source, "read", None)
    for piece in iter(lambda: read(_PIECE), b"") if read else source:
        yield _checked(piece)


async def apieces(source: BinaryIO | Iterable[bytes]) -> AsyncIterator[bytes]:
    """Yield a document in pieces. A file is read in another thread, because that may take long."""
    read = getattr(source, "read", None)
    if read is None:
        for piece in source:
            yield _checked(piece)
        return
    while piece := _checked(await asyncio.to_thread(read, _PIECE)):
        yield piece
