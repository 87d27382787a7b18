"""Real servers for the tests: the trefoil of TREFOIL_BINARY, or one that is built."""

from __future__ import annotations

import os
import re
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Queue

import pytest

from trefoil import Client

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def binary(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the path of trefoil."""
    if path := os.environ.get("TREFOIL_BINARY"):
        return path
    path = str(tmp_path_factory.mktemp("bin") / "trefoil")
    subprocess.run(["go", "build", "-o", path, "."], cwd=ROOT, check=True)
    return path


class Node:
    """A server process."""

    def __init__(self, binary: str, data: Path, *flags: str) -> None:
        command = [binary, "serve", "--data", str(data), "--listen", "127.0.0.1:0", *flags]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        self._started: Queue[str] = Queue()
        self._reader = threading.Thread(target=self._read)  # the pipe must not fill
        self._reader.start()
        try:
            self.url = self._started.get(timeout=60)
            assert self.url.startswith("http"), f"trefoil serve ended:\n{self.url}"
        except BaseException:
            self.stop()
            raise

    def _read(self) -> None:
        log = ""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            log += line
            if found := re.search(r'msg="serving .* at (https?://[^\s"]+)"', line):
                self._started.put(found[1])
        self._started.put(log)

    def stop(self) -> None:
        """End the process, also if it was killed before."""
        self.process.terminate()
        self.process.wait(60)
        self._reader.join()
        assert self.process.stderr is not None
        self.process.stderr.close()


@pytest.fixture(scope="session")
def start(binary: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Node]]:
    """Return a function that starts a node with an empty directory and flags."""
    nodes: list[Node] = []

    def started(*flags: str) -> Node:
        nodes.append(Node(binary, tmp_path_factory.mktemp("node") / "data", *flags))
        return nodes[-1]

    yield started
    for node in nodes:
        node.stop()


@pytest.fixture(scope="session")
def node(start: Callable[..., Node]) -> Node:
    """Return a node that the tests share."""
    return start()


@pytest.fixture
def client(node: Node) -> Iterator[Client]:
    """Return a client of an empty store."""
    with Client(node.url) as client:
        client.update("CLEAR ALL")
        yield client
