"""One peer in a process of its own: sends each job so many times, then says what that took.

    python child.py PEER WARM COUNT

The stages are the first command, WARM more, COUNT more, WARM submissions and COUNT more of those.
It imports nothing but what every process has; all the rest is the peer's.
"""

import itertools
import json
import os
import sys
import time


def event(method, path, body, groups, number):
    """A REST proxy event as API Gateway sends it."""
    headers = {
        "Accept": "application/json",
        "Authorization": "Bearer abc",
        "Content-Type": "application/json",
        "Host": "api.example.com",
        "Idempotency-Key": f"key-{number:06d}",
        "User-Agent": "bench",
        "X-Amzn-Trace-Id": "Root=1-5759e988-bd862e3fe1be46a994272793",
    }
    return {
        "resource": "/{proxy+}",
        "path": path,
        "httpMethod": method,
        "headers": headers,
        "multiValueHeaders": {name: [value] for name, value in headers.items()},
        "queryStringParameters": None,
        "multiValueQueryStringParameters": None,
        "pathParameters": None,
        "stageVariables": None,
        "requestContext": {
            "accountId": "123456789012",
            "apiId": "1234567890",
            "authorizer": {
                "claims": {
                    "sub": "o-1",
                    "token_use": "id",
                    "custom:tenantId": "acme",
                    "cognito:groups": groups,
                }
            },
            "httpMethod": method,
            "identity": {"sourceIp": "127.0.0.1"},
            "path": f"/v1{path}",
            "requestId": "c6af9ac6-7b61-11e6-9a41-93e8deadbeef",
            "resourcePath": "/{proxy+}",
            "stage": "v1",
        },
        "body": body,
        "isBase64Encoded": False,
    }


def create_case(number, reference=None):
    """`POST /cases`: the reference is unique in the tenant."""
    body = (
        f'{{"externalRef": "{reference or f"REG-{number:06d}"}", '
        '"title": "Dust in the ventilation of building 4", '
        '"region": "EU-WEST", "priority": "HIGH"}'
    )
    return event("POST", "/cases", body, "officer", number)


def submit(case_id, number, version=2):
    """`POST /cases/{caseId}/submissions`: for review, by its officer, at the version read."""
    body = f'{{"reviewerId": "r-1", "expectedVersion": {version}}}'
    return event("POST", f"/cases/{case_id}/submissions", body, "officer", number)


class Context:
    """What a handler may ask of the Lambda context."""

    function_name = "bench"
    function_version = "1"
    memory_limit_in_mb = 1024
    invoked_function_arn = "arn:aws:lambda:us-east-1:123456789012:function:bench"
    aws_request_id = "52fdfc07-2182-154f-163f-5f0f9a621d72"

    @staticmethod
    def get_remaining_time_in_millis():
        return 15_000


def peak_kilobytes():
    """The most memory that this process has held, by the kernel's own account."""
    with open("/proc/self/status") as status:  # noqa: PTH123 -- pathlib would be a module more
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))


def stage_ends(seconds):
    """Note the CPU time; and call what callgrind is told to cut its counts at."""
    seconds.append(time.process_time())
    os.getloadavg()


def main(peer, warm, count):
    seconds = []
    handler = __import__(peer).handler
    numbers = itertools.count()
    handler(create_case(next(numbers)), Context)
    stage_ends(seconds)
    for job in (create_case, lambda number: submit("case-1", number)):
        for times in (warm, count):
            for _ in range(times):
                handler(job(next(numbers)), Context)
            stage_ends(seconds)
    packages = {name.partition(".")[0] for name in sys.modules} - sys.stdlib_module_names
    report = {"seconds": seconds, "kilobytes": peak_kilobytes(), "modules": len(sys.modules)}
    report["packages"] = sorted(name for name in packages if not name.startswith("_"))
    sys.stdout.flush()
    os.write(int(os.environ["REPORT_TO"]), json.dumps(report).encode())
    os._exit(0)


if __name__ == "__main__":
    if slower := float(os.environ.get("TIMES_SLOWER", "1")):
        # Under callgrind all takes fifty times longer; seconds too, so that nothing expires.
        real = time.monotonic
        time.monotonic = lambda: real() / slower
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
