"""The code blocks of README.md here, and of docs/TUTORIAL.md of the repository."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import ROOT, Node


@pytest.mark.parametrize(
    "path", [ROOT / "docs" / "TUTORIAL.md", ROOT / "python" / "README.md"], ids=["repository", "package"]
)
def test_blocks(
    path: Path,
    start: Callable[..., Node],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Run the blocks of a file one after the other. What is printed is that of the comments behind print."""
    pytest.importorskip("pandas")
    pytest.importorskip("rdflib")
    blocks = re.findall(r"(?ms)^```python\n(.*?)^```$", path.read_text())
    assert blocks
    monkeypatch.chdir(tmp_path)
    code = "\n".join(blocks).replace("http://127.0.0.1:7333", start().url)
    exec(compile(code, str(path), "exec"), {"__name__": "__main__"})
    printed = capsys.readouterr().out.splitlines()
    assert printed == re.findall(r"print\(.*?\)  # (.*)", code)
    assert printed
