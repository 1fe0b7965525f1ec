"""Arguments held against a function's own annotations: what is something else ends in one line."""

import builtins
import collections.abc
import functools
import importlib
import inspect
import numbers
import re
import sys
import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from typing import Any, TypeVar

from pqpp_files.errors import PqppError
from pqpp_files.options.option import shown

Typed = TypeVar("Typed", bound=Callable[..., Any])
Check = Callable[[Any], bool]
_USUAL = inspect.Parameter.POSITIONAL_OR_KEYWORD
_LISTS = (list, Sequence, Collection, Iterable, Set)


class ArgumentError(PqppError, TypeError):
    """An argument is not of the type that its function says."""


_UNCHECKED: tuple[frozenset[type], Check | None] = (frozenset(), None)


def typed(function: Typed) -> Typed:
    """Let a function, or what makes an object of a class, refuse arguments of another type.

    An annotation is checked as far as it says something that can be seen: classes, numbers of any
    library, functions, and lists, tuples and mappings with what they hold. Whatever has a length
    and an order counts as a `Sequence`, an array or a column say, but for a single text. What an
    iterator will give is not looked at; a class that only type checkers import is known by its
    name.

    Raises:
        ArgumentError: From the call, with the argument, what came and what it must be.

    Example:
        >>> @typed
        ... def first(words: list[str], count: int = 1) -> list[str]:
        ...     return words[:count]
        >>> first(["a", "b"])
        ['a']
        >>> first(["a", 2])
        Traceback (most recent call last):
            ...
        pqpp_files.options.arguments.ArgumentError: `words` is list of int, str; give list[str]
    """
    if inspect.isclass(function):
        setattr(function, "__init__", typed(function.__init__))  # noqa: B010
        return function
    parameters = inspect.signature(function).parameters.values()
    names = [
        parameter.name
        for parameter in parameters
        if parameter.kind in (parameter.POSITIONAL_ONLY, _USUAL)
    ]
    named_only = [
        parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY
    ]
    checks: dict[str, tuple[frozenset[type], Check]] = {}

    @functools.wraps(function)
    def checked(*given: Any, **named: Any) -> Any:
        if not checks:  # the first call: annotations may name what stands below the function
            hints = typing.get_type_hints(function, localns=_Names(function.__globals__))
            for name in filter(hints.get, (*names, *named_only)):
                checks[name] = _classes_of(hints[name]), _check_of(hints[name])
        for name, value in (*zip(names, given), *named.items()):  # noqa: B905
            exact, check = checks.get(name, _UNCHECKED)
            if check and type(value) not in exact and not check(value):
                raise ArgumentError(_refusal(function, name, value))
        return function(*given, **named)

    return typing.cast(Typed, checked)


class _KnownByName(type):
    """The type of a class that only type checkers import: its objects are known by its name."""

    def __instancecheck__(cls, value: object) -> bool:
        return cls.__name__ in {base.__name__ for base in type(value).__mro__}

    def __getattr__(cls, name: str) -> type:
        if name.startswith("_"):
            raise AttributeError(name)
        return _KnownByName(name, (), {})

    def __getitem__(cls, item: object) -> type:
        return cls


_WIDER = {int: numbers.Integral, float: numbers.Real, bool: _KnownByName("bool", (), {})}
"""What counts as a number or truth value, numpy's too."""


class _Names(dict[str, Any]):
    """The names of a module, and classes known by name for what is not there."""

    def __missing__(self, name: str) -> Any:
        if name in sys.stdlib_module_names:
            return importlib.import_module(name)
        for module in (builtins, collections.abc):  # whose classes know objects by what they do
            if hasattr(module, name):
                return getattr(module, name)
        return _KnownByName("object" if name in ("ArrayLike", "NDArray") else name, (), {})


def _is_any(value: Any) -> bool:
    return True


def _classes_of(hint: Any) -> frozenset[type]:
    """Return the classes that an annotation names: their own objects need no other look."""
    options = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    return frozenset(option for option in options if isinstance(option, type))


def _check_of(hint: Any) -> Check:
    """Return what tells whether a value is what an annotation says."""
    kind, parts = typing.get_origin(hint) or hint, typing.get_args(hint)
    if isinstance(hint, TypeVar):
        kind, parts = typing.Union, hint.__constraints__ or (hint.__bound__ or Any,)
    if kind in (types.UnionType, typing.Union):
        options = [_check_of(part) for part in parts]
        return lambda value: any(option(value) for option in options)
    if kind is Any or not isinstance(kind, type) or getattr(kind, "_is_protocol", False):
        return _is_any
    kind, checks = _WIDER.get(kind, kind), [_check_of(part) for part in parts if part is not ...]
    if kind is tuple and ... not in parts:
        return lambda value: (
            isinstance(value, tuple)
            and len(value) == len(checks)
            and all(check(item) for check, item in zip(checks, value, strict=True))
        )
    if kind is tuple or kind in _LISTS:
        return lambda value: (
            _is_list(value, kind)
            and (not (checks and hasattr(value, "__len__")) or all(map(checks[0], value)))
        )
    if issubclass(kind, Mapping):
        return lambda value: (
            isinstance(value, kind)
            and all(
                check(item)
                for pair in value.items()
                for check, item in zip(checks, pair, strict=False)
            )
        )
    return lambda value: isinstance(value, kind)


def _is_list(value: Any, kind: type) -> bool:
    """Tell a list from one text, and from what only can be asked for items."""
    if isinstance(value, str | bytes | type) or getattr(value, "shape", None) == ():
        return False
    has_order = hasattr(value, "__getitem__") and hasattr(value, "__len__")
    is_like_it = kind is Sequence and has_order and not isinstance(value, Mapping | Set)
    return isinstance(value, kind) or is_like_it


def _refusal(function: Callable[..., Any], name: str, value: Any) -> str:
    """Say what came, never a text that may be secret, and what is allowed."""
    hint, came = function.__annotations__[name], type(value).__name__
    if isinstance(value, list | tuple | set | Mapping):
        items = value.values() if isinstance(value, Mapping) else value
        came += f" of {', '.join(sorted({type(item).__name__ for item in items}))}" * bool(value)
    elif isinstance(value, str | numbers.Number | None):
        came = shown(value)
    wanted = hint if isinstance(hint, str) else inspect.formatannotation(hint)
    return f"`{name}` is {came}; give {re.sub(r'(?:[a-z_]+[.])+', '', wanted)}"
