"""What anyone may read: that the service is up, its OpenAPI document, and the page around it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from aws_lambda_powertools.event_handler import openapi

from holdfast.patterns.commands import Response

DOCUMENT = Path(__file__).parent / "openapi.json"
_ASSETS = Path(openapi.__file__).parent / "swagger_ui"
_PAGE = """<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>Holdfast API</title><style>{css}</style></head>
<body><div id="swagger-ui"></div>
<script>{js}</script>
<script>
  const base = window.location.href.replace(/[?#].*$/, "").replace(/\\/docs\\/*$/, "");
  fetch(base + "/openapi.json").then((answer) => answer.json()).then((spec) => {{
    spec.servers = [{{url: base}}];
    SwaggerUIBundle({{spec, dom_id: "#swagger-ui", deepLinking: true}});
  }});
</script>
</body>
</html>
"""


def health(*_: Any) -> Response:
    """The service answers."""
    return Response(200, {"Cache-Control": "no-store"}, '{"status":"ok"}')


def openapi_document(*_: Any) -> Response:
    """The service's OpenAPI document."""
    return Response(200, {}, _document())


def docs_page(*_: Any) -> Response:
    """The OpenAPI document as a page that needs nothing from elsewhere."""
    return Response(200, {"Content-Type": "text/html; charset=utf-8"}, _page())


@cache
def _document() -> str:
    return DOCUMENT.read_text()


@cache
def _page() -> str:
    """Swagger UI out of the Powertools package, inside the page, so it works offline."""
    css = (_ASSETS / "swagger-ui.min.css").read_text()
    return _PAGE.format(css=css, js=(_ASSETS / "swagger-ui-bundle.min.js").read_text())


DOCUMENTS: Mapping[str, Any] = {
    "/health": health,
    "/openapi.json": openapi_document,
    "/docs": docs_page,
}
