"""Writes src/trefoil/client.py, the client with blocking calls, from src/trefoil/aio.py, so that the two are the same.

python unasync.py writes the file. With --check it only fails if the file is another one.
"""

import re
import sys
from pathlib import Path

SOURCE = Path(__file__).parent / "src" / "trefoil" / "aio.py"
TARGET = SOURCE.with_name("client.py")

RULES = [
    (r"import AsyncIterable, AsyncIterator, Iterable\b", "import Iterable, Iterator"),
    (r"await asyncio\.sleep", "time.sleep"),
    (r"\bimport asyncio\b", "import time"),
    (r"\bawait ", ""),
    (r"\basync (def|for|with)\b", r"\1"),
    (r"\bAsync(Client|Rows|Links|Iterator|Iterable)\b", r"\1"),
    (r"\bStopAsyncIteration\b", "StopIteration"),
    (r"\b__a(enter|exit|next|iter)__", r"__\1__"),
    (r"\ba(next|read|close|pieces|iter_bytes)\b", r"\1"),
    (r"\n\nThe code of client\.py is made from this file by unasync\.py\.\n", ""),
    (r"used by several tasks at the same time", "used by several threads"),
    (r"The client for asyncio\.", "The client. Made from aio.py by unasync.py: change that file."),
]


def unasync(text: str) -> str:
    """Return the code with blocking calls."""
    for pattern, replacement in RULES:
        text = re.sub(pattern, replacement, text)
    return text


if __name__ == "__main__":
    made = unasync(SOURCE.read_text())
    if "--check" not in sys.argv:
        TARGET.write_text(made)
    elif TARGET.read_text() != made:
        sys.exit(f"{TARGET} is not made from {SOURCE.name}: run python unasync.py")
