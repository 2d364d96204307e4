"""What Discord refuses (its 50035): limits of messages, embeds, components, threads, and its own API description.

https://discord.com/developers/docs/resources/message#embed-object-embed-limits and the pages around it.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from tests.shared_data import SHARED

SPEC = SHARED / "specs" / "discord" / "openapi.json"
EMBED_TOTAL = 6000  # of all texts of all embeds of a message
URN = "urn:discord"


def message_problems(body: Mapping[str, Any]) -> list[str]:
    """Everything Discord would refuse in a message that is created or edited, each with its place."""
    problems = [*_length("content", body.get("content"), 0, 2000)]
    embeds = body.get("embeds") or []
    if len(embeds) > 10:
        problems.append(f"{len(embeds)} embeds")
    for number, embed in enumerate(embeds):
        problems += [f"embeds[{number}].{problem}" for problem in _embed(embed)]
    if sum(_embed_size(embed) for embed in embeds) > EMBED_TOTAL:
        problems.append(f"more than {EMBED_TOTAL} characters in the embeds")
    problems += _components(body.get("components") or [])
    problems += _mentions(body)
    return problems


def modal_problems(data: Mapping[str, Any]) -> list[str]:
    problems = [*_length("title", data.get("title"), 1, 45), *_length("custom_id", data.get("custom_id"), 1, 100)]
    rows = data.get("components") or []
    if not 1 <= len(rows) <= 5:
        problems.append(f"{len(rows)} rows")
    for row in rows:
        problems += _length("label", row.get("label") or "-", 1, 45)
        problems += _length("description", row.get("description"), 0, 100)
    for item in _leaves(rows):
        problems += _menu(item) if item.get("type") in (3, 8) else []
        problems += _length("value", item.get("value"), 0, int(item.get("max_length") or 4000))
        problems += _length("custom_id", item.get("custom_id"), 1, 100)
        problems += _length("label", item.get("label") or "-", 1, 45)
        problems += _length("placeholder", item.get("placeholder"), 0, 100)
        if not 0 <= int(item.get("max_length") or 0) <= 4000:
            problems.append("max_length")
    return problems


def _menu(item: Mapping[str, Any]) -> Iterator[str]:
    """A menu: at most 25 options, each once, and no more chosen than it lets choose (docs.discord.com, selects)."""
    least, most = item.get("min_values", 1), item.get("max_values", 1)
    if not (0 <= least <= 25 and 1 <= most <= 25 and least <= most):
        yield f"{least} to {most} values"
    options = item.get("options") or []
    if item["type"] == 3 and not 1 <= len(options) <= 25:
        yield f"{len(options)} options"
    if len({option["value"] for option in options}) != len(options):
        yield "an option twice"
    for option in options:
        yield from _length("option label", option.get("label"), 1, 100)
        yield from _length("option value", option.get("value"), 1, 100)
    chosen = [option for option in options if option.get("default")] + list(item.get("default_values") or [])
    if len(chosen) > most:
        yield f"{len(chosen)} chosen of {most}"


def choices_problems(choices: Iterable[Mapping[str, Any]]) -> list[str]:
    """Of an autocomplete's answer."""
    listed = list(choices)
    problems = [] if len(listed) <= 25 else [f"{len(listed)} choices"]
    for choice in listed:
        problems += _length("choice.name", choice.get("name"), 1, 100)
        problems += _length("choice.value", str(choice.get("value")), 1, 100)
    return problems


def command_problems(command: Mapping[str, Any]) -> list[str]:
    is_slash = command.get("type", 1) == 1
    problems = [*_length("name", command.get("name"), 1, 32)]
    if is_slash and not re.fullmatch(r"[-_'\w]{1,32}", str(command.get("name"))):
        problems.append(f"name {command.get('name')!r}")
    problems += _length("description", command.get("description"), 1 if is_slash else 0, 100 if is_slash else 0)
    for said in (command, *(command.get("options") or [])):
        for told, least, most in (("name", 1, 32), ("description", 1, 100)):
            for words in (said.get(f"{told}_localizations") or {}).values():
                problems += _length(f"{told}_localizations", words, least, most)
    for option in command.get("options") or []:
        problems += _length("option.name", option.get("name"), 1, 32)
        problems += _length("option.description", option.get("description"), 1, 100)
        problems += choices_problems(option.get("choices") or [])
    return problems


def thread_problems(body: Mapping[str, Any]) -> list[str]:
    problems = [*_length("name", body.get("name"), 1, 100)]
    if body.get("auto_archive_duration") not in (None, 60, 1440, 4320, 10080):
        problems.append(f"auto_archive_duration {body.get('auto_archive_duration')}")
    return problems


def described_problems(method: str, template: str, body: object) -> list[str]:
    """What Discord's OpenAPI description says against `body`; empty where the description is not at hand."""
    validator = _validator(method, template)
    if validator is None:
        return []
    return [f"{error.json_path}: {error.message[:200]}" for error in validator.iter_errors(body)]


def _embed(embed: Mapping[str, Any]) -> Iterator[str]:
    yield from _length("title", embed.get("title"), 0, 256)
    yield from _length("description", embed.get("description"), 0, 4096)
    if "description" in embed and not str(embed["description"]).strip() and not embed.get("title"):
        yield "is empty"
    yield from _length("footer", (embed.get("footer") or {}).get("text"), 0, 2048)
    yield from _length("author", (embed.get("author") or {}).get("name"), 0, 256)
    yield from _address("url", embed.get("url"), 2048)
    fields = embed.get("fields") or []
    if len(fields) > 25:
        yield f"{len(fields)} fields"
    for field in fields:
        yield from _length("field.name", field.get("name"), 1, 256)
        yield from _length("field.value", field.get("value"), 1, 1024)


def _embed_size(embed: Mapping[str, Any]) -> int:
    texts = [embed.get("title"), embed.get("description")]
    texts += [(embed.get("footer") or {}).get("text"), (embed.get("author") or {}).get("name")]
    texts += [text for field in embed.get("fields") or [] for text in (field.get("name"), field.get("value"))]
    return sum(len(text or "") for text in texts)


def _components(rows: list[Mapping[str, Any]]) -> Iterator[str]:
    if len(rows) > 5:
        yield f"{len(rows)} rows of components"
    for row in rows:
        if row.get("type") != 1 or not 1 <= len(row.get("components") or []) <= 5:
            yield f"row {row}"
    items = list(_leaves(rows))
    names = [item["custom_id"] for item in items if item.get("custom_id")]
    if len(names) != len(set(names)):
        yield f"custom ids twice: {names}"
    for row in rows:
        if len(row["components"]) > 1 and any(item.get("type") in (3, 8) for item in row["components"]):
            yield "a menu beside something else"
    for item in items:
        if item.get("type") in (3, 8):
            yield from _menu(item)
            yield from _length("placeholder", item.get("placeholder"), 0, 150)
            continue
        yield from _length("label", item.get("label"), 0, 80)
        if item.get("style") == 5:
            yield from _address("button.url", item.get("url") or "-", 512)
            if item.get("custom_id"):
                yield "a link with a custom id"
        else:
            yield from _length("custom_id", item.get("custom_id"), 1, 100)
        if not item.get("label") and not item.get("emoji"):
            yield "a button without label and emoji"


def _leaves(rows: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for row in rows:
        inner = row.get("components") or ([row["component"]] if "component" in row else None)
        if inner is None:
            yield row
        else:
            yield from _leaves(inner)


def _mentions(body: Mapping[str, Any]) -> Iterator[str]:
    """Without `allowed_mentions` every mention pings; whoever writes for the web must say whom it may ping."""
    if (body.get("content") or body.get("embeds")) and "allowed_mentions" not in body:
        yield "no allowed_mentions"
    allowed = body.get("allowed_mentions") or {}
    if set(allowed.get("parse") or []) & {"everyone", "roles"}:
        yield f"allowed_mentions {allowed}"


def _length(name: str, text: object, least: int, most: int) -> Iterator[str]:
    if text is None:
        if least:
            yield f"{name} is missing"
        return
    size = len(str(text))
    if not least <= size <= most or (least and not str(text).strip()):
        yield f"{name} has {size} characters, not {least} to {most}"


def _address(name: str, url: object, most: int) -> Iterator[str]:
    if url is not None and (not re.match(r"https?://[^\s/]", str(url)) or len(str(url)) > most):
        yield f"{name} {str(url)[:80]!r}"


@functools.cache
def _description() -> Mapping[str, Any] | None:
    if not SPEC.exists():
        return None
    text = SPEC.read_text("utf-8")
    described: dict[str, Any] = json.loads(text)
    # Discord takes ids as numbers as well as strings, and 2000 characters of content, whatever its description says.
    described["components"]["schemas"]["SnowflakeType"] = {"anyOf": [{"type": "string"}, {"type": "integer"}]}
    described["components"]["schemas"]["MessageCreateRequest"]["properties"]["content"]["maxLength"] = 2000
    return described


@functools.cache
def _validator(method: str, template: str) -> Draft202012Validator | None:
    described = _description()
    if described is None:
        return None
    operation = described["paths"].get(template, {}).get(method.lower(), {})
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if content is None:
        return None
    registry: Registry[Any] = Registry().with_resource(URN, Resource(contents=described, specification=DRAFT202012))
    return Draft202012Validator(_absolute(content["schema"]), registry=registry)


def _absolute(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {
            key: f"{URN}{value}" if key == "$ref" and str(value).startswith("#") else _absolute(value)
            for key, value in schema.items()
        }
    return [_absolute(part) for part in schema] if isinstance(schema, list) else schema
