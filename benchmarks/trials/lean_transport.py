"""The commands' handler with a transport of its own: one kept connection, no pool, no urllib3."""

import http.client
from urllib.parse import urlsplit

import botocore.endpoint
from botocore.awsrequest import AWSResponse


class Raw:
    """The answer's body, read already."""

    def __init__(self, content):
        self.content = content

    def stream(self):
        return [self.content]


class LeanSession:
    """Sends prepared requests over one connection, and opens it again when it was closed."""

    def __init__(self, **_):
        self.link = None

    def send(self, request):
        address = urlsplit(request.url)
        if self.link is None:
            self.link = http.client.HTTPConnection(address.netloc, timeout=300)
        headers = {
            name: value.decode() if isinstance(value, bytes) else value
            for name, value in request.headers.items()
        }
        self.link.request(request.method, address.path or "/", request.body, headers)
        answer = self.link.getresponse()
        content = answer.read()
        return AWSResponse(request.url, answer.status, answer.headers, Raw(content))

    def close(self):
        self.link = None


botocore.endpoint.URLLib3Session = LeanSession
make = botocore.endpoint.EndpointCreator.create_endpoint


def create_endpoint(self, *arguments, **settings):
    return make(self, *arguments, **{**settings, "http_session_cls": LeanSession})


botocore.endpoint.EndpointCreator.create_endpoint = create_endpoint
from commands_api import handler  # noqa: E402, F401 -- after the transport is in place
