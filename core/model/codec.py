"""Our frozen types as versioned JSON and back: what stores and durable steps keep; and settings out of variables.

Never a pickle: a row written today must be readable, and refusable, by tomorrow's code.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from core.model.errors import RowUnreadable, SetupError

T = TypeVar("T")
Settings = TypeVar("Settings", bound=BaseModel)
VERSION = 1


def encode(value: object) -> str:
    """`{"v": 1, "type": "Source", "value": …}` for a dataclass of ours or a tuple, list or scalar."""
    body = _adapter(type(value)).dump_json(value).decode()
    return f'{{"v":{VERSION},"type":"{type(value).__name__}","value":{body}}}'


def decode(text: str, expected: type[T]) -> T:
    """Raises `RowUnreadable` when the text is of another version, type or shape; it quotes nothing of the text."""
    try:
        row = _ROW.validate_json(text)
        if row.get("v") != VERSION or row.get("type") != expected.__name__:
            raise RowUnreadable(f"stored {row.get('type')} v{row.get('v')}, expected {expected.__name__} v{VERSION}")
        value: T = _adapter(expected).validate_python(row["value"])
    except KeyError as exc:
        raise RowUnreadable(f"stored {expected.__name__} has no value") from exc
    except ValidationError as exc:
        fault = exc.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(map(str, fault["loc"]))
        # Without the cause: its words quote what is stored, and tracebacks are logged.
        raise RowUnreadable(f"stored {expected.__name__} cannot be read: {place} {fault['type']}") from None
    return value


_ROW: TypeAdapter[dict[str, object]] = TypeAdapter(dict[str, object])


_ADAPTERS: dict[type[object], TypeAdapter[Any]] = {}  # building one costs milliseconds


def _adapter(kind: type[object]) -> TypeAdapter[Any]:
    if kind not in _ADAPTERS:
        _ADAPTERS[kind] = TypeAdapter(kind)
    return _ADAPTERS[kind]


def read_settings(kind: type[Settings], env: Mapping[str, str]) -> Settings:
    """Its own variables out of `env`, by alias, blank ones counting as unset. Raises `SetupError`."""
    names = {str(field.alias) for field in kind.model_fields.values()}
    try:
        return kind.model_validate({name: env[name].strip() for name in names if env.get(name, "").strip()})
    except ValidationError as exc:
        first = exc.errors(include_url=False)[0]
        raise SetupError.of(str(first["loc"][0]), first) from exc
