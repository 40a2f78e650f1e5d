"""E-mail through Amazon SES, which takes no key of ours and cannot be asked.

So a mail whose answer was lost is not sent again by itself: its ledger ends as FAILED_FINAL
with OUTCOME_UNKNOWN, where a person decides.
Source: Amazon SES API v2 reference, SendEmail.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from holdfast.domain.effects import mail_of
from holdfast.edge.providers import Done, Never, NotDone, Unheard, Verdict
from holdfast.patterns.envelope import Envelope
from holdfast.writes.settling import NEVER_SENT

PASSING: Mapping[str, str] = {
    "TooManyRequestsException": "THROTTLED",
    "ThrottlingException": "THROTTLED",
    "LimitExceededException": "OVER_QUOTA",
    "SendingPausedException": "PAUSED",
    "AccountSuspendedException": "SUSPENDED",
}


class Email:
    """`client` is an SES v2 client that does not retry; `sender` a verified address."""

    repeatable = False

    def __init__(self, client: Any, sender: str) -> None:
        self.client = client
        self.sender = sender

    def call(self, envelope: Envelope, operation_id: str, attempt: int) -> Verdict:
        """Send the mail that the event asks for."""
        del attempt
        mail = mail_of(envelope.type, envelope.data)
        content = {"Subject": _text(mail.subject), "Body": {"Text": _text(mail.text)}}
        try:
            answer = self.client.send_email(
                FromEmailAddress=self.sender,
                Destination={"ToAddresses": [mail.to]},
                Content={"Simple": content},
                EmailTags=[{"Name": "operationId", "Value": operation_id}],
            )
        except NEVER_SENT as error:
            return NotDone(type(error).__name__)
        except BotoCoreError as error:
            return Unheard(type(error).__name__)
        except ClientError as error:
            return _verdict(error)
        return Done(answer["MessageId"])

    def ask(self, operation_id: str) -> Done | NotDone | Unheard:
        """SES keeps no such record."""
        del operation_id
        return Unheard("CANNOT_SAY")


def _verdict(error: ClientError) -> Verdict:
    code = error.response["Error"]["Code"]
    if code in PASSING:
        return NotDone(PASSING[code])
    if error.response["ResponseMetadata"]["HTTPStatusCode"] >= 500:
        return Unheard(code)
    return Never(code)


def _text(text: str) -> dict[str, str]:
    return {"Data": text, "Charset": "UTF-8"}
