"""An HTTP webhook: each event is POSTed to one address, signed, under its operation's id.

The receiver must treat `Idempotency-Key` as its own key. It may also answer `GET
<address>/<operation id>` with 200 when it has done the operation and 404 when it never saw it;
a receiver that cannot say is called again under the same key.
"""

from __future__ import annotations

import ipaddress
import socket
import ssl
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import urllib3
from urllib3 import exceptions as http

from holdfast.edge.providers import Done, Never, NotDone, Unheard, Verdict
from holdfast.edge.providers.signature import HEADER, sign
from holdfast.patterns import envelope as envelopes
from holdfast.patterns.envelope import Envelope

TIMEOUT = urllib3.Timeout(connect=2, read=5)
RETRYABLE = frozenset({408, 409, 425, 429})
"""Besides 5xx: client errors that pass, among them a key whose first call still runs."""
ANSWER_BYTES_MAX = 1024
NEVER_SENT = (http.NewConnectionError, http.ConnectTimeoutError, http.SSLError)


class PrivateAddress(Exception):
    """The host's name leads into a private network."""


class Webhook:
    """One receiver. `private` allows plain HTTP and addresses that are not public, for local use.

    The name is resolved here and the connection made to the very address that was checked, so
    a name that changes its mind in between gains nothing.
    """

    repeatable = True

    def __init__(
        self,
        url: str,
        secret: Callable[[], str],
        *,
        private: bool,
        now_seconds: Callable[[], float],
        resolve: Callable[..., Any] = socket.getaddrinfo,
    ) -> None:
        address = urlsplit(url)
        if address.hostname is None or not (address.scheme == "https" or private):
            raise ValueError("a webhook has an https address")
        self.secure = address.scheme == "https"
        self.host = address.hostname
        self.port = address.port or (443 if self.secure else 80)
        self.path = address.path.rstrip("/") or "/"
        self.netloc = address.netloc.rpartition("@")[2]
        self.secret = secret
        self.private = private
        self.now_seconds = now_seconds
        self.resolve = resolve

    def call(self, envelope: Envelope, operation_id: str, attempt: int) -> Verdict:
        """POST the envelope; redirects are not followed."""
        headers = {"Holdfast-Attempt": str(attempt), "Idempotency-Key": operation_id}
        body = envelopes.encode(envelope).encode()
        status = self._exchange("POST", self.path, body, headers)
        return status if not isinstance(status, int) else _verdict(status)

    def ask(self, operation_id: str) -> Done | NotDone | Unheard:
        """GET what became of an operation, if the receiver offers that."""
        path = f"{self.path.rstrip('/')}/{operation_id}"
        match self._exchange("GET", path, b"", {}):
            case 200:
                return Done("asked")
            case 404:
                return NotDone("NOT_SEEN")
        return Unheard("CANNOT_SAY")

    def _exchange(
        self, method: str, path: str, body: bytes, headers: dict[str, str]
    ) -> int | Verdict:
        """The status of the answer, or why there is none."""
        stamp = round(self.now_seconds())
        sent = {
            "Content-Type": "application/json",
            "User-Agent": "holdfast",
            "Host": self.netloc,
            HEADER: sign(self.secret(), body, stamp),
            **headers,
        }
        try:
            with self._pool() as pool:
                answer = pool.urlopen(
                    method,
                    path,
                    body=body or None,
                    headers=sent,
                    retries=False,
                    redirect=False,
                    timeout=TIMEOUT,
                    preload_content=False,
                )
                answer.read(ANSWER_BYTES_MAX)
                return int(answer.status)
        except PrivateAddress:
            return Never("PRIVATE_ADDRESS")
        except socket.gaierror:
            return NotDone("NAME_NOT_RESOLVED")
        except NEVER_SENT as error:
            return NotDone(type(error).__name__)
        except http.HTTPError as error:
            return Unheard(type(error).__name__)

    def _pool(self) -> urllib3.HTTPConnectionPool:
        address = self._address()
        if not self.secure:
            return urllib3.HTTPConnectionPool(address, self.port, maxsize=1)
        return urllib3.HTTPSConnectionPool(
            address,
            self.port,
            maxsize=1,
            ssl_context=ssl.create_default_context(),
            server_hostname=self.host,
            assert_hostname=self.host,
        )

    def _address(self) -> str:
        """One address of the host, when all of them are allowed."""
        found = self.resolve(self.host, self.port, type=socket.SOCK_STREAM)
        addresses = [str(entry[4][0]) for entry in found]
        if not self.private and not all(map(_is_public, addresses)):
            raise PrivateAddress
        return addresses[0]


def _is_public(address: str) -> bool:
    """Neither private nor otherwise special, also where it wraps an IPv4 address."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        embedded = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
        ip = embedded or ip
    return ip.is_global and not ip.is_multicast


def _verdict(status: int) -> Verdict:
    if 200 <= status < 300:
        return Done(f"HTTP_{status}")
    if status in RETRYABLE or status >= 500:
        return NotDone(f"HTTP_{status}")
    return Never(f"HTTP_{status}")
