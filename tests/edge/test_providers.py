"""Deliveries are signed, go nowhere private, follow nothing, and end in one of four ways."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, ReadTimeoutError

from holdfast.domain.effects import MAILS, effects_of
from holdfast.edge.providers import Done, Never, NotDone, Unheard
from holdfast.edge.providers.email import Email
from holdfast.edge.providers.signature import AGE_SECONDS_MAX, is_signed, sign
from holdfast.edge.providers.webhook import Webhook
from holdfast.patterns import envelope
from holdfast.patterns.envelope import Envelope
from tests.conftest import CREDENTIALS
from tests.relaying import AT
from tools.emulator import REGION

SECRET, NOW = "a secret of this test", 1_900_000_000
EVENT = Envelope(
    event_id="event-1",
    type="OfficerRegistered",
    aggregate="OFFICER#acme#o-1#PROFILE",
    version=1,
    at=AT,
    actor="root",
    tenant="acme",
    data={"name": "Ada Example", "email": "ada@example.org", "maxLoad": 3},
)


class Recorder(HTTPServer):
    """Answers every request with one status, and keeps what it was sent."""

    def __init__(self) -> None:
        self.status, self.requests = 200, list[tuple[str, str, dict[str, str], bytes]]()
        recorder = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                recorder.requests.append((self.command, self.path, dict(self.headers), body))
                self.send_response(recorder.status)
                self.send_header("Location", "http://127.0.0.1:1/elsewhere")
                self.end_headers()

            do_GET = do_POST  # noqa: N815 -- the name that http.server calls

            def log_message(self, *_: Any) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://localhost:{self.server_address[1]}/hooks"


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    server = Recorder()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def hook(url: str, *, private: bool = True, addresses: tuple[str, ...] = ()) -> Webhook:
    def resolve(host: str, port: int, **_: Any) -> Any:
        return [(0, 0, 0, "", (address, port)) for address in addresses]

    return Webhook(
        url,
        lambda: SECRET,
        private=private,
        now_seconds=lambda: NOW,
        resolve=resolve if addresses else socket.getaddrinfo,
    )


def test_a_delivery_is_the_signed_envelope_under_its_operations_key(recorder: Recorder) -> None:
    assert hook(recorder.url).call(EVENT, "operation-1", 3) == Done("HTTP_200")
    [(method, path, headers, body)] = recorder.requests
    assert (method, path) == ("POST", "/hooks")
    assert body.decode() == envelope.encode(EVENT)
    assert headers["Idempotency-Key"] == "operation-1"
    assert headers["Holdfast-Attempt"] == "3"
    assert headers["Host"] == recorder.url.split("/")[2]
    assert is_signed(SECRET, body, headers["Holdfast-Signature"], NOW + 5)


def test_a_signature_of_other_bytes_another_secret_or_another_time_is_none() -> None:
    signature = sign(SECRET, b"body", NOW)
    assert is_signed(SECRET, b"body", signature, NOW)
    assert not is_signed(SECRET, b"other", signature, NOW)
    assert not is_signed("other", b"body", signature, NOW)
    assert not is_signed(SECRET, b"body", signature, NOW + AGE_SECONDS_MAX + 1)
    assert not is_signed(SECRET, b"body", "t=,v1=", NOW)
    assert not is_signed(SECRET, b"body", "nonsense", NOW)


@pytest.mark.parametrize(
    ("status", "verdict"),
    [
        (200, Done("HTTP_200")),
        (202, Done("HTTP_202")),
        (302, Never("HTTP_302")),
        (400, Never("HTTP_400")),
        (404, Never("HTTP_404")),
        (408, NotDone("HTTP_408")),
        (409, NotDone("HTTP_409")),
        (429, NotDone("HTTP_429")),
        (500, NotDone("HTTP_500")),
        (503, NotDone("HTTP_503")),
    ],
)
def test_a_status_is_settled_by_the_table_and_no_redirect_is_followed(
    recorder: Recorder, status: int, verdict: Any
) -> None:
    recorder.status = status
    assert hook(recorder.url).call(EVENT, "operation-1", 1) == verdict
    assert len(recorder.requests) == 1


@pytest.mark.parametrize(
    ("status", "said"),
    [(200, Done("asked")), (404, NotDone("NOT_SEEN")), (405, Unheard("CANNOT_SAY"))],
)
def test_a_receiver_is_asked_by_the_operations_id(
    recorder: Recorder, status: int, said: Any
) -> None:
    recorder.status = status
    assert hook(recorder.url).ask("operation-1") == said
    assert recorder.requests[0][:2] == ("GET", "/hooks/operation-1")


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",  # noqa: S104 -- refused as a target, not bound
        "224.0.0.1",
        "::1",
        "fe80::1%eth0",
        "fd00::1",
        "::ffff:10.0.0.1",
        "2002:a00:1::",
    ],
)
def test_an_address_that_is_not_public_is_refused_outside_stage_local(address: str) -> None:
    public_too = ("93.184.215.14", address)
    never = hook("https://hooks.example.org", private=False, addresses=public_too)
    assert never.call(EVENT, "operation-1", 1) == Never("PRIVATE_ADDRESS")


def test_outside_stage_local_an_address_is_https() -> None:
    with pytest.raises(ValueError, match="https"):
        hook("http://hooks.example.org", private=False)


def test_a_name_that_does_not_resolve_and_a_port_that_is_closed_were_never_sent() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        closed = probe.getsockname()[1]
    assert hook(f"http://127.0.0.1:{closed}/").call(EVENT, "o", 1) == NotDone("NewConnectionError")

    def unknown(*_: Any, **__: Any) -> Any:
        raise socket.gaierror

    lost = Webhook(
        "https://hooks.example.org",
        lambda: SECRET,
        private=False,
        now_seconds=lambda: NOW,
        resolve=unknown,
    )
    assert lost.call(EVENT, "o", 1) == NotDone("NAME_NOT_RESOLVED")


class Ses:
    def __init__(self, answer: Any) -> None:
        self.answer, self.sent = answer, list[dict[str, Any]]()

    def send_email(self, **request: Any) -> Any:
        self.sent.append(request)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def refused(code: str, status: int = 400) -> ClientError:
    answer = {
        "Error": {"Code": code, "Message": "any"},
        "ResponseMetadata": {"HTTPStatusCode": status},
    }
    return ClientError(answer, "SendEmail")


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ({"MessageId": "m-1"}, Done("m-1")),
        (refused("TooManyRequestsException", 429), NotDone("THROTTLED")),
        (refused("SendingPausedException"), NotDone("PAUSED")),
        (refused("MessageRejected"), Never("MessageRejected")),
        (refused("InternalFailure", 500), Unheard("InternalFailure")),
        (ReadTimeoutError(endpoint_url="http://any"), Unheard("ReadTimeoutError")),
        (EndpointConnectionError(endpoint_url="http://any"), NotDone("EndpointConnectionError")),
    ],
)
def test_a_mail_ends_in_one_of_four_ways(answer: Any, verdict: Any) -> None:
    ses = Ses(answer)
    mail = Email(ses, "holdfast@example.org")
    assert mail.call(EVENT, "operation-1", 1) == verdict
    assert ses.sent[0]["Destination"] == {"ToAddresses": ["ada@example.org"]}
    assert ses.sent[0]["EmailTags"] == [{"Name": "operationId", "Value": "operation-1"}]
    assert mail.ask("operation-1") == Unheard("CANNOT_SAY")
    assert not mail.repeatable


def test_the_emulators_mail_service_takes_the_mail(endpoint: str) -> None:
    client = boto3.client("sesv2", endpoint_url=endpoint, region_name=REGION, **CREDENTIALS)
    client.create_email_identity(EmailIdentity="holdfast@example.org")
    sent = Email(client, "holdfast@example.org").call(EVENT, "operation-1", 1)
    assert isinstance(sent, Done)


def test_every_event_goes_to_the_webhook_and_some_by_mail() -> None:
    assert effects_of("CaseEdited") == ("webhook",)
    assert {effects_of(kind) for kind in MAILS} == {("webhook", "email")}
