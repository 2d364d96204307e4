"""A web client that holds every response against the OpenAPI description, and refuses what is not described.

Fields may be added to the API, but not without a word: an object that has `properties` has no others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any

import yaml
from aiohttp import ClientResponse
from aiohttp.test_utils import TestClient, TestServer
from jsonschema import Draft202012Validator, FormatChecker
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from adapters.web.api import FILE
from tests.adapters.web.sse import parse_events

NAME = "urn:gorkd"
ERROR = "#/components/schemas/Error"
FORMATS = FormatChecker(())
_UNDESCRIBED = ("/static/", "/sign-", "/admin")  # files, forms and tables for people


@FORMATS.checks("date-time", raises=ValueError)
def _is_time(value: object) -> bool:
    """ISO 8601 in UTC; G-01 asks for no other."""
    return not isinstance(value, str) or (value.endswith("Z") and datetime.fromisoformat(value).tzinfo == UTC)


@cache
def description() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(FILE.read_text("utf-8"))
    return _closed(document)


def assert_conforms(value: object, reference: str) -> None:
    """`value` is what the description says at `reference`, `#/components/schemas/Job` for one."""
    registry = Registry().with_resource(NAME, Resource(description(), DRAFT202012))
    validator = Draft202012Validator({"$ref": f"{NAME}{reference}"}, registry=registry, format_checker=FORMATS)
    faults = [f"{'/'.join(map(str, fault.path))}: {fault.message[:300]}" for fault in validator.iter_errors(value)]
    assert faults == [], reference


class ConformingClient(TestClient):
    """Reads each response whole and judges it."""

    async def _request(self, method: str, path: str, **options: Any) -> ClientResponse:
        response = await super()._request(method, path, **options)
        if not response.url.path.startswith(_UNDESCRIBED):
            await _judge(response, method)
        return response


def conforming(app: Any) -> ConformingClient:
    return ConformingClient(TestServer(app))


async def _judge(response: ClientResponse, method: str) -> None:
    body = await response.read()
    if response.url.path.startswith("/v1/"):
        assert {"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"} <= set(response.headers)
    found = _operation(response.url.path, method)
    if found is None:
        is_odd = response.status in (303, 404, 405, 429)
        assert response.content_type == "text/html" or is_odd, response.url.path
        if response.url.path.startswith("/v1/") and method != "HEAD":
            assert_conforms(json.loads(body), ERROR)
        return
    place, operation = found
    status = str(response.status) if str(response.status) in operation["responses"] else "default"
    described = operation["responses"][status]
    if "$ref" in described:
        place = described["$ref"]
        described = description()["components"]["responses"][place.rpartition("/")[2]]
    else:
        place = f"{place}/responses/{status}"
    if "content" not in described or method == "HEAD":
        assert body == b""
        return
    assert response.content_type in described["content"], response.content_type
    if response.content_type == "application/json":
        assert_conforms(json.loads(body), f"{place}/content/application~1json/schema")
    if response.content_type == "text/event-stream":
        for event in parse_events(body.decode()):
            assert_conforms(event.data, f"{place}/content/text~1event-stream/x-events/{event.type}")


def _operation(path: str, method: str) -> tuple[str, Mapping[str, Any]] | None:
    """The description of `method` at `path` and where in the document it stands."""
    name = "get" if method.upper() == "HEAD" else method.lower()
    for template, operations in description()["paths"].items():
        if re.fullmatch(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(template)), path) and name in operations:
            return f"#/paths/{template.replace('/', '~1')}/{name}", operations[name]
    return None


def _closed(node: Any) -> Any:
    """Every described object, without room for others."""
    if isinstance(node, list):
        return [_closed(entry) for entry in node]
    if not isinstance(node, dict):
        return node
    closed = {key: _closed(value) for key, value in node.items()}
    if closed.get("type") == "object" and "properties" in closed and "additionalProperties" not in closed:
        closed["additionalProperties"] = False
    return closed
