"""Arguments held against annotations: what is refused, what passes, what a function keeps."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas as pd
import pytest

from pqpp_files.errors import PqppError
from pqpp_files.options.arguments import ArgumentError, typed

if TYPE_CHECKING:
    import os
    from collections.abc import Collection

    import pyarrow as pa

HINTS: dict[str, tuple[Any, tuple[Any, ...], tuple[Any, ...]]] = {
    "text": (str, ("a", np.str_("a")), (1, b"a", None, Path("a"), ["a"])),
    "whole": (int, (1, np.int8(3), 2**70), (1.0, "5", None, np.float16(), Decimal(1))),
    "number": (float, (1, 0.5, np.float32(1), float("nan")), ("1", 1j, Decimal(1), None)),
    "truth": (bool, (True, np.bool_(False)), (1, "yes", None, np.array([True, False]))),
    "maybe": (str | None, ("a", None), (0, [], b"")),
    "path": (str | Path, ("a", Path("a")), (b"a", 1, None)),
    "list": (list[str], (["a"], []), (("a",), "a", ["a", 1], np.array(["a"]))),
    "sequence": (
        Sequence[str],
        (["a"], ("a",), np.array(["a"]), pd.Series(["a"]), []),
        ("a", {"a"}, {"a": 1}, iter(["a"]), [None], np.array("a"), 1),
    ),
    "numbers": (Sequence[float], ([1, 0.5], np.zeros(3), range(3)), (["1"], [None], "12")),
    "iterable": (Iterable[str], (["a"], {"a"}, iter([1]), {"a": 1}), ("a", [1], 1, np.array("a"))),
    "pair": (tuple[int, str], ((1, "a"),), ((1,), ("a", 1), [1, "a"], (1, "a", 2))),
    "mapping": (Mapping[str, int], ({"a": 1}, {}), ({1: 1}, {"a": "b"}, [("a", 1)], None)),
    "function": (Callable[[str], bool], (len, str), ("len", 1)),
    "one of": (str | Sequence[str] | None, ("a", ["a"], None), (1, [1], {"a": 1})),
    "nested": (Sequence[Sequence[int]], ([[1], []],), ([1], ["12"], [["1"]])),
    "one kind": (TypeVar("Kind", int, str), (1, "a"), (0.5, None)),
    "bound": (Sequence[TypeVar("Bound", bound=int)], ([1],), (["a"],)),
    "whatever": (Any, (1, None, object()), ()),
}


@pytest.mark.parametrize(("hint", "allowed", "refused"), HINTS.values(), ids=HINTS)
def test_a_value_passes_as_its_annotation_says(hint, allowed, refused):
    def same(value, other=None):
        return value

    same.__annotations__ = {"value": hint}
    same = typed(same)
    for value in allowed:
        assert same(value) is value
        assert same(value=value, other=object()) is value
    for value in refused:
        with pytest.raises(ArgumentError, match=r"^`value` is .*; give ") as raised:
            same(value)
        assert "\n" not in str(raised.value)
        with pytest.raises(ArgumentError):
            same(value=value)


def test_an_error_is_of_both_kinds_and_shows_no_bytes():
    @typed
    def reach(address: str, tries: "int" = 1, *more: int, **others: str) -> None:
        """Reach an address."""

    for kind in (PqppError, TypeError):
        with pytest.raises(kind, match=r"^`tries` is '5'; give int$"):
            reach("a", "5")
    with pytest.raises(ArgumentError, match=r"^`address` is bytes; give str$"):
        reach(b"hf_secret")
    with pytest.raises(TypeError, match=r"unexpected keyword|required positional"):
        typed(lambda value: value)(other=1)
    assert reach("a", 1, "not looked at", name=b"neither") is None


def test_a_class_that_only_type_checkers_import_is_known_by_its_name():
    import pyarrow as pyarrow

    @typed
    def rows_of(table: "pa.Table | None") -> int:
        return 0 if table is None else len(table)

    assert rows_of(pyarrow.table({"a": [1, 2]})) == 2
    with pytest.raises(ArgumentError, match=r"^`table` is dict of list; give Table \| None$"):
        rows_of({"a": [1, 2]})


def test_an_abstract_class_that_only_type_checkers_import_is_known_by_what_objects_do():
    @typed
    def name_of(path: "str | os.PathLike[str]", parts: "Collection[str]" = ()) -> str:
        return f"{path}"

    assert name_of(Path("a"), {"b": 1}) == name_of("a") == "a"
    for given in ((1,), ("a", 1)):
        with pytest.raises(ArgumentError):
            name_of(*given)


def test_a_function_and_a_class_keep_what_help_shows():
    def plain(words: Sequence[str], count: int = 1) -> list[str]:
        """Return the first words."""
        return list(words[:count])

    checked = typed(plain)
    for told in ("__name__", "__qualname__", "__doc__", "__module__", "__annotations__"):
        assert getattr(checked, told) == getattr(plain, told)
    assert inspect.signature(checked) == inspect.signature(plain)

    @typed
    @dataclass(frozen=True)
    class Pair:
        name: str
        count: int = 1

    assert str(inspect.signature(Pair)) == "(name: str, count: int = 1) -> None"
    assert Pair("a") == Pair("a", count=1)
    with pytest.raises(ArgumentError, match=r"^`count` is 'b'; give int$"):
        Pair("a", "b")


def test_methods_of_objects_and_classes_are_checked_behind_their_first_argument():
    class Shelf:
        @typed
        def add(self, name: str) -> str:
            return name

        @classmethod
        @typed
        def of(cls, count: int) -> type:
            return cls

    assert (Shelf().add("a"), Shelf.of(1)) == ("a", Shelf)
    with pytest.raises(ArgumentError):
        Shelf().add(1)
    with pytest.raises(ArgumentError):
        Shelf.of("a")
