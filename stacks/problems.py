"""The gateway's own refusals, in the same `application/problem+json` as the functions' answers."""

import json
from dataclasses import dataclass
from http import HTTPStatus

from aws_cdk import aws_apigateway as apigateway

_TYPE = apigateway.ResponseType


@dataclass(frozen=True)
class Problem:
    """One answer of the HTTP contract that the gateway gives by itself."""

    status: int
    code: str
    detail: str
    retryable: bool = False
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def body(self) -> str:
        return json.dumps(
            {
                "type": f"urn:problem:{self.code}",
                "title": HTTPStatus(self.status).phrase,
                "status": self.status,
                "detail": self.detail,
                "code": self.code,
                "retryable": self.retryable,
            }
        )


UNAUTHENTICATED = Problem(
    401,
    "unauthenticated",
    "Send a valid ID token: Authorization: Bearer <token>.",
    headers=(("WWW-Authenticate", "Bearer"),),
)
FORBIDDEN = Problem(403, "forbidden", "The caller may not do this.")
NOT_FOUND = Problem(404, "not-found", "There is nothing at this address.")
TOO_LARGE = Problem(413, "too-large", "The body is larger than the service accepts.")
MALFORMED = Problem(400, "malformed-request", "The request cannot be read.")
TOO_MANY = Problem(
    429, "too-many-requests", "Slow down, then retry.", True, (("Retry-After", "1"),)
)
IN_DOUBT = Problem(
    503,
    "outcome-unknown",
    "No answer in time. Retry with the same Idempotency-Key: nothing happens twice.",
    True,
    (("Retry-After", "2"),),
)
INTERNAL = Problem(
    500,
    "internal-error",
    "Something failed on our side. A retry with the same Idempotency-Key is safe.",
    True,
)

PROBLEMS: dict[apigateway.ResponseType, Problem] = {
    _TYPE.UNAUTHORIZED: UNAUTHENTICATED,
    _TYPE.EXPIRED_TOKEN: UNAUTHENTICATED,
    _TYPE.INVALID_SIGNATURE: UNAUTHENTICATED,
    _TYPE.ACCESS_DENIED: FORBIDDEN,
    _TYPE.WAF_FILTERED: FORBIDDEN,
    # The gateway says so of a method or path that it does not have, not of a missing token.
    _TYPE.MISSING_AUTHENTICATION_TOKEN: NOT_FOUND,
    _TYPE.RESOURCE_NOT_FOUND: NOT_FOUND,
    _TYPE.REQUEST_TOO_LARGE: TOO_LARGE,
    _TYPE.BAD_REQUEST_BODY: MALFORMED,
    _TYPE.BAD_REQUEST_PARAMETERS: MALFORMED,
    _TYPE.THROTTLED: TOO_MANY,
    _TYPE.QUOTA_EXCEEDED: TOO_MANY,
    _TYPE.INTEGRATION_TIMEOUT: IN_DOUBT,
    _TYPE.INTEGRATION_FAILURE: IN_DOUBT,
    _TYPE.DEFAULT_4_XX: MALFORMED,
    _TYPE.DEFAULT_5_XX: INTERNAL,
}


def answer_in_problems(api: apigateway.RestApi) -> None:
    """Give every kind of gateway response its problem; one template serves every Accept header."""
    for kind, problem in PROBLEMS.items():
        headers = {"Content-Type": "application/problem+json", **dict(problem.headers)}
        api.add_gateway_response(
            f"Problem{kind.response_type}",
            type=kind,
            status_code=str(problem.status),
            response_headers={name: f"'{value}'" for name, value in headers.items()},
            templates={"application/json": problem.body},
        )
