"""What may stand in `router.json`: a file that others made says only what a router can be."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import jsonschema

from pqpp_engines.errors import RouteError
from pqpp_models.foreign import read_foreign_json

KIND = "pqpp_router"
_MOST = 1e12  # of costs, utilities and prices; with more, sums are no longer exact
_TEXT = {"type": "string", "minLength": 1, "maxLength": 1000}
_NUMBER = {"type": "number", "minimum": -_MOST, "maximum": _MOST}
_OR_NONE = {"anyOf": [_NUMBER, {"type": "null"}]}
_ROUTE = {
    "type": "object",
    "properties": {
        "name": _TEXT,
        "target": _TEXT,
        "cost": {**_NUMBER, "minimum": 0},
        "utility": {**_NUMBER, "exclusiveMinimum": 0},
    },
    "required": ["name", "target", "cost"],
    "additionalProperties": False,
}
_SCHEMA = {
    "type": "object",
    "properties": {
        "model_type": {"const": KIND},
        "routes": {"type": "array", "items": _ROUTE, "minItems": 2, "maxItems": 1000},
        "rule": {
            "type": "object",
            "properties": dict.fromkeys(("budget", "share", "floor", "confidence"), _OR_NONE),
            "additionalProperties": False,
        },
        "price": _NUMBER,
        "shares": {
            "type": "object",
            "additionalProperties": {"type": "number", "minimum": 0, "maximum": 1},
        },
        "prompts": {"type": "integer", "minimum": 0, "maximum": 10**12},
        "predictor": _TEXT,
        "revision": {"anyOf": [_TEXT, {"type": "null"}]},
    },
    "required": ["model_type", "routes", "rule", "price", "shares", "prompts", "predictor"],
}


def read_router(path: Path) -> dict[str, Any]:
    """Return what a router's file tells, checked.

    Raises:
        RouteError: It is no router's, or something in it cannot be; one line names it.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "router.json"
        >>> _ = path.write_text('{"model_type": "pqpp_router", "price": true}')
        >>> read_router(path)
        Traceback (most recent call last):
        pqpp_engines.errors.RouteError: ...router.json is damaged (price: True is not ...); ...
    """
    found = read_foreign_json(path)
    kind = found.get("model_type") if isinstance(found, dict) else None
    if kind != KIND:
        raise RouteError(f"{path}: its model_type is {kind!r:.60}, no router")
    for where, value in _numbers(found):
        if not math.isfinite(value):
            raise RouteError(f"{path} is damaged ({where} {value}: give a number); make it again")
    wrong = list(jsonschema.Draft202012Validator(_SCHEMA).iter_errors(found))
    if wrong:
        # What is there and cannot be says more than what is missing.
        first = min(wrong, key=lambda one: (not one.path, list(map(str, one.path))))
        where = ".".join(map(str, first.path)) or "the whole"
        raise RouteError(f"{path} is damaged ({where}: {first.message:.120}); make it again")
    names = {route["name"] for route in found["routes"]}
    shares = found["shares"]
    if shares and (set(shares) != names or abs(sum(shares.values()) - 1) > 0.001):
        raise RouteError(f"{path} is damaged (shares: one a route, 1 in all); make it again")
    return found


def _numbers(value: Any, where: str = "") -> Iterator[tuple[str, float]]:
    if isinstance(value, float):
        yield where, value
    parts: Iterable[tuple[Any, Any]] = value.items() if isinstance(value, dict) else ()
    parts = enumerate(value) if isinstance(value, list) else parts
    for name, part in parts:
        yield from _numbers(part, f"{where}.{name}" if where else str(name))
