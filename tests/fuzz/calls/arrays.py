"""What a metric function may be given: arrays of any shape and type, lists, texts and objects."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

_DTYPES = [
    "bool",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "int64",
    "uint64",
    "float16",
    "float32",
    "float64",
]
_SHAPES = ((), (0,), (1,), (2,), (5,), (12,), (3, 2), (2, 3), (4, 5), (6, 6), (0, 3), (2, 3, 4))
_ODD_NUMBERS = (0, 1, -1, 3, 0.5, -0.5, 2**53 + 1, 2**70, 1e308, -1e308, 1e-308, float("nan"))
_ODD_NUMBERS += (float("inf"), True, np.int8(3), np.float32(0.25), np.uint64(2**63), 10**400)
_WORDS = ("", "a", "pearson", "tuebingen", "mit", "richhf", "unisal", "pysaliency", "linear")
_WORDS += ("nominal", "ordinal", "interval", "quadratic", "optimistic", "a | b", "\x1b[2J", "0")
_WORDS += ("two-sided",)
_OBJECTS = (None, {}, [], (), [None], [[]], [[], [1]], {"a": 1}, {"a": [1, 2]}, object, b"ab")
_OBJECTS += (1j, slice(3), range(4), {1, 2}, [["a", "b"], ["b", "a"]], ["a", None], [1, [2]])


def arguments(function: Callable[..., Any], seed: int) -> dict[str, Any]:
    """Return arguments for a metric function: arrays mostly, of one shape mostly."""
    random = np.random.default_rng(seed)
    shape = _SHAPES[random.integers(len(_SHAPES))]
    named = {}
    for parameter in inspect.signature(function).parameters.values():
        is_needed = parameter.default is inspect.Parameter.empty
        if is_needed or random.random() < 0.2:
            named[parameter.name] = _value(random, shape, is_needed)
    return named


def wide(value: Any) -> Any:
    """Return an array of whole numbers in 64 bits, in which sums and products don't wrap around."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "iu" and value.dtype != np.uint64:
        return value.astype(np.int64)
    return value


def is_same(one: Any, other: Any) -> bool:
    """Tell whether two results are the same, whatever holds them."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(is_same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(is_same, one, other))
    if isinstance(one, np.ndarray | np.generic | float):
        one, other = np.asarray(one), np.asarray(other)
        if one.dtype.kind == "f":
            return one.shape == other.shape and np.allclose(one, other, 1e-9, 0, equal_nan=True)
        return np.array_equal(one, other)
    return one == other


def _value(random: np.random.Generator, shape: tuple[int, ...], is_needed: bool):
    """Return an argument: mostly an array for one that is needed, mostly a number for others."""
    kind = random.random()
    if kind < (0.75 if is_needed else 0.15):
        other = random.random() < 0.15
        return _array(random, _SHAPES[random.integers(len(_SHAPES))] if other else shape)
    if kind < 0.85:
        numbers = _ODD_NUMBERS if random.random() < 0.5 else (1, 2, 3, 5, 10, 0.95, 0.05)
        return numbers[random.integers(len(numbers))]
    if kind < 0.93:
        return _WORDS[random.integers(len(_WORDS))]
    return _OBJECTS[random.integers(len(_OBJECTS))]


def _array(random: np.random.Generator, shape: tuple[int, ...]):
    """Return an array, or the lists that hold the same, of usual or of odd values."""
    dtype = np.dtype(_DTYPES[random.integers(len(_DTYPES))])
    if random.random() < 0.6:
        scale = (1, 3, 100)[random.integers(3)]
        values = random.integers(0, scale + 1, shape)
        if dtype.kind == "f":
            values = values + random.random(shape) - random.integers(2)
        found = np.asarray(values).astype(dtype)
    else:
        edge = _edge(random, dtype)
        found = np.where(random.random(shape) < 0.3, edge, np.ones(shape, dtype)).astype(dtype)
    way = random.random()
    if way < 0.3:
        return found.tolist()
    if way < 0.35:
        return np.ma.masked_array(found)
    if way < 0.4:
        return np.asarray(found).astype(object)
    if way < 0.45:
        return np.asarray(found).astype(str).tolist()
    if way < 0.5 and found.size:
        cells = np.asarray(found).astype(object)
        cells.flat[0] = None
        return cells.tolist()
    return found


def _edge(random: np.random.Generator, dtype: np.dtype):
    if dtype.kind == "f":
        limits = np.finfo(dtype)
        edges = (np.nan, np.inf, -np.inf, limits.max, limits.min, limits.tiny, 0.0, -1.0)
    elif dtype.kind == "b":
        edges = (False,)
    else:
        limits = np.iinfo(dtype)
        edges = (limits.max, limits.min, 0)
    return np.array(edges[random.integers(len(edges))]).astype(dtype)
