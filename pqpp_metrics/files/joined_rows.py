"""Bringing the rows of several files together: by their ids, or by place where there are none."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pqpp_files.read_table import INDEX, Table
from pqpp_metrics.errors import MetricFileError

# What rows are joined by, the first that all files have; ids are read as text.
KEYS = ("id", "query_id", "prompt_id", "prompt")
_SHOWN = 3
_BETWEEN = "\x1f"  # the parts of an id of several columns


@dataclass
class Joined:
    """Which rows of the files belong together.

    Attributes:
        rows: File to its rows in the order of the first file; None: each as it is.
        ids: The text that names each row, None where nothing does.
        told: What was done, in words; empty for one file.
    """

    rows: Mapping[str, Sequence[int]]
    ids: list[str] | None = None
    told: str = ""


@dataclass
class _Ids:
    """The ids of a file: what they are called, and one text a row."""

    name: str
    texts: list[str]


def joined(
    tables: Mapping[str, Table],
    used: Mapping[str, set[str]],
    named: Sequence[str] = (),
    missing: str = "error",
) -> Joined:
    """Join the rows of files by their ids.

    Ids are a column or the pandas index of a Parquet file. Files that all have some are joined by
    them, whatever they are called; where the ids are the same in the same order they may repeat.

    Args:
        tables: File to its content.
        used: File to the columns that are scored, which name no row.
        named: The columns that together are the id; those of `KEYS` and indexes if empty.
        missing: `drop` leaves out ids that not every file has, anything else refuses them.

    Raises:
        MetricFileError: An id is missing or there twice, or only some of several files have ids; or
            rows with one id in common differ in another, and none was named.
        FileError: A file has no column that was named.
    """
    # An index that only counts the rows names them where that of another file is not such a one.
    counts = not any(table.index and not _is_range(table) for table in tables.values())
    ids = {path: _candidates(table, used[path], named, counts) for path, table in tables.items()}
    chosen = _chosen(ids)
    rows: dict[str, Sequence[int]]
    rows = {path: range(len(table)) for path, table in tables.items()}
    if not chosen:
        holders = [path for path, own in ids.items() if own]
        lacking = [path for path, own in ids.items() if not own]
        _refuse_other_order(ids, holders, lacking)
        without = f": {', '.join(lacking)} without ids" if holders else ""
        return Joined(rows, None, f"paired by row{without}" if len(tables) > 1 else "")
    names = " = ".join(dict.fromkeys(own.name for own in chosen.values()))
    first = next(iter(chosen.values())).texts
    if any(own.texts != first for own in chosen.values()):
        rows = _matched(tables, chosen, missing)
    kept = [first[row] for row in next(iter(rows.values()))]
    if len(tables) < 2:
        return Joined(rows, kept)
    _refuse_contradiction(tables, ids, names, rows)
    left = sum(len(own.texts) - len(kept) for own in chosen.values())
    dropped = f", {left:,} without a partner left out" if left else ""
    return Joined(rows, kept, f"joined on {names}, {len(kept):,} rows{dropped}")


def _candidates(
    table: Table, used: set[str], named: Sequence[str], without_ranges: bool
) -> list[_Ids]:
    """Return what may name the rows of a file, the likeliest first."""
    if named:
        cells = [_ids_called(table, name) for name in named]
        one = cells[0] if len(cells) == 1 else list(zip(*cells, strict=True))
        return [_Ids(",".join(named), list(map(as_text, one)))]
    name, levels = (table.index[0], table.index[0].split(",")) if table.index else ("", [])
    # A column of an index with several levels is a part of an id.
    names = [one for one in KEYS if one in table and (one not in levels or len(levels) == 1)]
    if table.index and name not in names and not (without_ranges and _is_range(table)):
        names.insert(0 if len(levels) > 1 else len(names), name)
    return [
        _Ids(one, list(map(as_text, _ids_called(table, one)))) for one in names if one not in used
    ]


def _is_range(table: Table) -> bool:
    return table.index is not None and isinstance(table.index[1], range)


def _ids_called(table: Table, name: str) -> Sequence:
    return table.index[1] if table.index and table.index[0] == name else table[name]


def _chosen(ids: Mapping[str, list[_Ids]]) -> dict[str, _Ids]:
    """Return the ids of each file that are called alike, or the likeliest of each."""
    first = next(iter(ids.values()))
    for one in first:
        alike = {path: [own for own in some if own.name == one.name] for path, some in ids.items()}
        if all(alike.values()):
            return {path: some[0] for path, some in alike.items()}
    if all(ids.values()):
        return {path: some[0] for path, some in ids.items()}
    return {}


def _refuse_other_order(
    ids: Mapping[str, list[_Ids]], holders: Sequence[str], lacking: Sequence[str]
) -> None:
    """Refuse files of which some have ids, in different order, and others none."""
    chosen = _chosen({path: ids[path] for path in holders}) if len(holders) > 1 else {}
    if len({tuple(own.texts) for own in chosen.values()}) > 1:
        came = f"{holders[0]} and {holders[1]} differ in {chosen[holders[0]].name!r}"
        raise MetricFileError(f"{came}, which {lacking[0]} does not have; add it there")


def _refuse_contradiction(
    tables: Mapping[str, Table],
    ids: Mapping[str, list[_Ids]],
    names: str,
    rows: Mapping[str, Sequence[int]],
) -> None:
    """Refuse rows that one id brings together and another one keeps apart: which is right?"""
    (first, known), *others = ids.items()
    for path, own in others:
        for one, other in itertools.product(known, own):
            if one.name != other.name or one.name in (names, INDEX):
                continue
            a, b = one.texts, other.texts
            pairs = zip(rows[first], rows[path], strict=True)
            if apart := [(at, to) for at, to in pairs if a[at] != b[to]]:
                at, to = apart[0]
                raise MetricFileError(
                    f"joined on {names}, {len(apart):,} rows differ in {one.name}, as "
                    f"{tables[first].place_of(at)} ({_shown(a[at])}) and "
                    f"{tables[path].place_of(to)} ({_shown(b[to])}); name the right id by `id`"
                )


def as_text(one: object) -> str:
    """Return an id as text, 7.0 as 7; the empty text where there is none, or a part of it."""
    if isinstance(one, tuple):
        parts = list(map(as_text, one))
        return _BETWEEN.join(parts) if all(parts) else ""
    if one is None or one != one:
        return ""
    return str(int(one) if isinstance(one, float) and one.is_integer() else one)


def _matched(
    tables: Mapping[str, Table], ids: Mapping[str, _Ids], missing: str
) -> dict[str, Sequence[int]]:
    """Return the rows of each file, brought into the order of the first by their ids."""
    places = {}
    for path, own in ids.items():
        places[path] = {one: row for row, one in enumerate(own.texts)}
        if "" in places[path]:
            where = tables[path].place_of(own.texts.index(""))
            raise MetricFileError(f"{where}: {own.name!r} is empty; give every row one")
        if len(places[path]) < len(own.texts):
            twice = next(one for row, one in enumerate(own.texts) if places[path][one] != row)
            where = tables[path].place_of(own.texts.index(twice, own.texts.index(twice) + 1))
            came = f"{where}: {own.name} {_shown(twice)!r} is there twice"
            raise MetricFileError(f"{came}, so rows cannot be joined by it; keep one of each")
    common = set.intersection(*map(set, places.values()))
    if not common:
        called = " and ".join(dict.fromkeys(own.name for own in ids.values()))
        came = f"{' and '.join(ids)} have no {called} in common"
        raise MetricFileError(f"{came}; give files that do, or name the column of ids by `id`")
    alone = {path: [one for one in own.texts if one not in common] for path, own in ids.items()}
    if any(alone.values()) and missing != "drop":
        told = [
            f"{path}: {len(some):,} {ids[path].name} not in every file ({_listed(some)})"
            for path, some in alone.items()
            if some
        ]
        wanted = "complete the files, or choose `missing` drop (zero is for TREC files)"
        raise MetricFileError(f"{'; '.join(told)}; {wanted}")
    kept = [one for one in next(iter(places.values())) if one in common]
    return {path: [own[one] for one in kept] for path, own in places.items()}


def _listed(ids: Sequence[str]) -> str:
    return ", ".join(map(_shown, ids[:_SHOWN])) + (", ..." if len(ids) > _SHOWN else "")


def _shown(one: str) -> str:
    return one[:60].replace(_BETWEEN, " ")
