"""What both clients share: where a request goes, and when it is sent again. It has no input or output."""

from __future__ import annotations

import base64
import random
import ssl
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import httpx

from .errors import TrefoilError, UnknownOutcome, error_of

T = TypeVar("T")
Params = list[tuple[str, str]]

MAX_CONNECTIONS = 100  # of one client
CONNECTION_WAIT = 30.0  # seconds that a request waits for one of them
VERSIONS = ("1.1", "1.2-basic", "1.2")  # of RDF; each has the terms of the one before


@dataclass
class Request:
    """A request without its address."""

    method: str
    path: str
    params: Params = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    change: bool = False  # it changes data, and has a key
    by_triple: bool = False  # a change that is done triple by triple: a second try does the rest
    if_unavailable: bool = True  # whether a change is sent again if the node is not available
    retry: bool = True
    query: bool = False  # it may take long: a timeout does not start it on another node


@dataclass
class Call(Generic[T]):
    """A request, and what makes a result of its whole answer."""

    request: Request
    parse: Callable[[bytes], T]


class Session:
    """The nodes, and the settings of requests."""

    def __init__(
        self,
        addresses: str | Sequence[str],
        token: str | None,
        auth: tuple[str, str] | None,
        retries: int,
        page_size: int,
        timeout: float | None = None,
        version: str | None = None,
    ) -> None:
        listed = addresses.split(",") if isinstance(addresses, str) else addresses
        self.nodes = [self._checked(a.strip()) for a in listed]
        if not self.nodes:
            raise ValueError("no address of a node")
        if token is not None and auth is not None:
            raise ValueError("give a token, or a user with a password, but not both")
        if any("\r" in text or "\n" in text for text in (token or "", *(auth or ()))):
            raise ValueError("the token or the password has a line end in it")
        if not 1 <= page_size <= 10_000:
            raise ValueError(f"a page size of {page_size}; it is 1 to 10000")
        if version is not None and version not in VERSIONS:
            raise ValueError(f"there is no version {version!r} of RDF; there are {', '.join(VERSIONS)}")
        self.version = version
        self.current = 0  # counts up; its remainder is the index of the node that gets requests
        self.retries = max(retries, 0)
        self.page_size = page_size
        # A machine that is off does not refuse a connection.
        self.timeout = httpx.Timeout(timeout, connect=3.0 if len(self.nodes) > 1 else 10.0, pool=CONNECTION_WAIT)
        self.limits = httpx.Limits(max_connections=MAX_CONNECTIONS, max_keepalive_connections=20)
        self.headers = {"User-Agent": "trefoil-python", "Accept-Encoding": "identity"}
        if token is not None:
            self.headers["Authorization"] = f"Bearer {token}"
        if auth is not None:
            self.headers["Authorization"] = "Basic " + base64.b64encode(":".join(auth).encode()).decode()

    @staticmethod
    def _checked(address: str) -> httpx.URL:
        url = httpx.URL(address)
        if url.userinfo:  # httpx would send it instead of the token, and errors would show it
            raise ValueError(
                f"the address of {url.host!r} has a user or a password in it: give auth=(user, password) instead"
            )
        if url.scheme not in ("http", "https") or not url.host or url.query or url.fragment:
            raise ValueError(f"{address!r} is not the address of a node, like http://127.0.0.1:7333")
        return url


class Attempts:
    """The tries of one request.

    The caller sends the request to url with headers, and calls failed or refused with what went wrong. These return
    the pause in seconds before the next try, or raise the error if there is none. The rules are those of the Go
    client (package client).
    """

    def __init__(self, session: Session, request: Request) -> None:
        self._session, self._request = session, request
        self._node = session.current
        self._tries = 0
        self._skipped = 0  # nodes without a connection since the last try
        self._unsure: TrefoilError | None = None  # of a try that may have made the change
        self._key = str(uuid.uuid4())

    @property
    def url(self) -> httpx.URL:
        """Return the URL of the next try."""
        self._node = self._session.current
        base = self._session.nodes[self._node % len(self._session.nodes)]
        url = base.copy_with(path=base.path.rstrip("/") + self._request.path)
        return url.copy_with(params=self._request.params) if self._request.params else url

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers of the next try."""
        headers = {**self._session.headers, **self._request.headers}
        if self._session.version is not None and headers.get("Accept", "application/json") != "application/json":
            types = headers["Accept"].split(",")
            headers["Accept"] = ",".join(f"{t};version={self._session.version}" for t in types)
        if self._request.change:
            headers["Idempotency-Key"] = self._key
            if self._tries == 0:  # no node has got it: nothing is sent without a connection
                headers["Trefoil-Repeat"] = "false"
        return headers

    def _leave(self) -> None:
        if self._session.current == self._node:  # another request may have left it already
            self._session.current += 1

    def failed(self, cause: httpx.TransportError) -> float:
        """The connection was not made, or broke before the end of the answer."""
        if _untrusted(cause) or isinstance(cause, httpx.LocalProtocolError):  # another try fails, too
            raise self._final(TrefoilError(str(cause), kind="connection")) from cause
        if isinstance(cause, httpx.PoolTimeout):  # the client's own limit: nothing was sent, and no node is at fault
            limit, wait = self._session.limits.max_connections, self._session.timeout.pool
            message = f"all {limit} connections of the client were in use for {wait:g} s"
            message += ": read results to their end, or close them"
            raise self._final(TrefoilError(message, kind="connection")) from cause
        node = self._session.nodes[self._node % len(self._session.nodes)]
        self._leave()
        if isinstance(cause, (httpx.ConnectError, httpx.ConnectTimeout)):
            # Nothing was sent, so the next node gets it at once, even what is not sent again.
            self._skipped += 1
            if self._skipped < len(self._session.nodes):
                return 0.0
            self._skipped = 0
            names = ", ".join(str(n) for n in self._session.nodes)
            message = f"no connection to {names}: {cause or type(cause).__name__}"
            return self._again(TrefoilError(message, kind="connection"), cause, 0.0)
        if isinstance(cause, httpx.ReadTimeout) and self._request.query:
            timeout = self._session.timeout.read
            message = f"{node} sent nothing for {timeout:g} s, the client's timeout: another node may need as long"
            raise TrefoilError(message, kind="connection") from cause
        message = f"the connection to {node} broke: {cause or type(cause).__name__}"
        return self._unanswered(message, cause)

    def _unanswered(self, message: str, cause: Exception) -> float:
        error = TrefoilError(message, kind="connection")
        if self._request.change or not self._request.retry:
            self._unsure = error = UnknownOutcome(message + "; the change may be done", kind="connection")
        return self._again(error, cause, 0.0)

    def refused(self, status: int, retry_after: str | None, body: bytes) -> float:
        """The answer is an error."""
        error = error_of(status, body)
        if not self._request.retry and not error.kind and status >= 500:  # of a proxy: the node may do it still
            raise UnknownOutcome(f"{error}; the change may be done", status=status) from error
        if not self._may_pass(error):
            raise self._final(error)
        if status in (502, 503, 504):
            self._leave()
        pause = float(retry_after) if retry_after and retry_after.isdecimal() else 0.0
        return self._again(error, None, min(pause, 60.0))

    def _may_pass(self, error: TrefoilError) -> bool:
        """Report whether a second try may succeed."""
        passing = error.status in (429, 502, 503, 504)
        if error.kind in ("lost", "query-timeout", "remote"):
            return False
        if not self._request.change:
            return passing or error.kind == "under-way"
        started = error.begun or error.done > 0
        if started or isinstance(error, UnknownOutcome):
            self._unsure = error
            return passing and self._request.by_triple
        if not error.kind and error.status >= 500:  # of a proxy: the node may have made the change
            self._unsure = error
            return True
        if error.kind == "unavailable":
            return self._request.if_unavailable
        return error.kind in ("busy", "loading", "under-way") or error.status == 429

    def _again(self, error: TrefoilError, cause: Exception | None, pause: float) -> float:
        self._tries += 1
        self._skipped = 0
        if not self._request.retry or self._tries > self._session.retries:
            raise self._final(error) from cause
        return max(pause, min(0.1 * 2.0 ** (self._tries - 1), 10.0) * random.uniform(0.5, 1.0))

    def _final(self, error: TrefoilError) -> TrefoilError:
        """After a try whose outcome is unknown, no error may look as if nothing was done."""
        earlier = self._unsure
        if earlier is None or isinstance(error, UnknownOutcome) or error.begun or error.done > 0:
            return error
        message = str(error) if earlier is error else f"{error}; an earlier try may have made the change: {earlier}"
        return UnknownOutcome(message, status=error.status, kind=error.kind)


def _untrusted(error: BaseException | None) -> bool:
    """Report whether a certificate is not trusted."""
    while error is not None and not isinstance(error, ssl.SSLCertVerificationError):
        error = error.__cause__ or error.__context__
    return error is not None


class Lines:
    """Cuts an answer into lines at line feeds only, because texts may have other line ends of Unicode."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the lines that end in the next chunk."""
        first, *rest = chunk.split(b"\n")
        self._parts.append(first)
        if not rest:
            return []
        rest.insert(0, b"".join(self._parts))
        self._parts = [rest.pop()]
        return rest

    def rest(self) -> bytes:
        """Return what follows the last line feed."""
        return b"".join(self._parts)


def broke_off(cause: Exception) -> TrefoilError:
    """Return the error of a stream that ended too early."""
    return TrefoilError(
        "the answer broke off before its end: the node ended it, at its time limit (--query-timeout) or by an error "
        f"that its log has, or the connection broke: {cause or type(cause).__name__}",
        kind="broken-off",
    )


MAX_ERROR_BYTES = 64 << 10

# A proxy of the environment has no way to this machine.
LOOPBACK = ("all://127.0.0.1", "all://localhost", "all://[::1]")
