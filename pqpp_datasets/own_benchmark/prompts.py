"""The prompts of several files under one numbering, and their splits.

A prompt is its text and its source; a split depends on nothing but the prompts and a seed.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from pqpp_datasets.errors import BenchmarkError
from pqpp_datasets.own_benchmark.long_table import NUMBER, LongTable
from pqpp_datasets.own_benchmark.options import FRACTIONS
from pqpp_datasets.pqpp import IDENTITIES
from pqpp_datasets.prompt_text import fold_text, normalise
from pqpp_files.hashes import hash_parts
from pqpp_files.names import how_many

_REST = 1e-9
_KNOWN = ("source", "prompt", "prompt_id", "category")


def make_ids(prompts: pd.DataFrame) -> pa.Table:
    """Return the columns `prompt_id`, `source`, `prompt`, `caption_id`, `image_id`, `category`.

    Where the files give no id, it is `<source>-<n>`, n counting the prompts of that source.

    Raises:
        BenchmarkError: If two prompts have one id.
    """
    counted = prompts["source"] + "-" + prompts.groupby("source").cumcount().astype(str)
    ids = prompts["prompt_id"].where(prompts["prompt_id"] != "", counted)
    if (repeated := ids.duplicated().to_numpy()).any():
        twice = ids[repeated.argmax()]
        first, second = prompts["prompt"][ids == twice].str[:40].tolist()[:2]
        raise BenchmarkError(f"prompt_id {twice!r} is used for {first!r} and {second!r}")
    categories = [category or None for category in prompts["category"]]
    values = {**prompts, "prompt_id": ids, "category": categories}
    columns = {name: values.get(name, [None] * len(prompts)) for name in IDENTITIES}
    return pa.table(columns, schema=pa.schema(IDENTITIES))


def assign_splits(prompts: pd.DataFrame, fractions: Mapping[str, float], seed: int) -> np.ndarray:
    """Return the split of each prompt, as `split_by_stratum` deals them out by source.

    A prompt goes by the user's own id, else by source and text: an id that is made here counts the
    rows of a file, whose order must not move a prompt. Prompts of one text, however it is typed,
    are dealt out as one, by the first of their sources and ids: "A dog." and "a dog" never be in
    two splits. A prompt without a text is in none, the empty text.
    """
    identities = zip(prompts["prompt_id"], prompts["source"], prompts["prompt"], strict=True)
    keys = [prompt_id or f"{source}\0{prompt}" for prompt_id, source, prompt in identities]
    spelled = prompts["prompt"].map(normalise)
    first = prompts.assign(own=keys, spelled=spelled).sort_values(["source", "own"])
    first = first[first["prompt"] != ""].drop_duplicates("spelled")
    dealt = split_by_stratum(first["own"].tolist(), first["source"].tolist(), fractions, seed)
    split_of = spelled.map(dict(zip(first["spelled"], dealt, strict=True)))
    return split_of.where(prompts["prompt"] != "", "").to_numpy()


def number_prompts(tables: Sequence[LongTable], same_text: bool = False) -> pd.DataFrame:
    """Number the prompts of all tables, as the column `NUMBER` of each.

    Texts of one spelling (`fold_text`) are one prompt, in the one of them that sorts first; the
    merged ones are counted in a note. Without a text, an id is a prompt. A row without a source has
    its text's only source in any of the files.

    Args:
        tables: Tables with `prompt`, and optionally `source`, `prompt_id` and `category`.
        same_text: Whether prompts of one text and source with ids of their own are separate
            prompts; they are in one split. Otherwise they are refused.

    Raises:
        BenchmarkError: If one prompt has two ids or categories, or a row has no source and its text
            several.

    Returns:
        A row a prompt, in the order in which the files bring them: its `source`, `prompt`, and the
        `prompt_id` and `category` that the files give, empty if they give none.

    Example:
        >>> import pandas as pd
        >>> rows = {"prompt": ["A cat.", "A cat."], "source": ["", "coco"]}
        >>> table = LongTable(pd.DataFrame(rows, dtype="category"), "votes.csv")
        >>> prompts = number_prompts([table])
        >>> table.rows[NUMBER].tolist(), prompts["source"].tolist()
        ([0, 0], ['coco'])
    """
    groups, firsts = [], []
    for index, table in enumerate(tables):
        there = [role for role in _KNOWN if role in table.rows]
        groups.append(table.rows.groupby(there, observed=True, sort=False).ngroup().to_numpy())
        first = np.unique(groups[-1], return_index=True)[1]
        firsts.append(table.rows.loc[first, there].astype(object).assign(table=index, row=first))
    rows = pd.concat(firsts, ignore_index=True)
    rows = rows.reindex(columns=["table", "row", *_KNOWN]).astype(object)
    # Of some texts for all rows, each is spelled once.
    spelled = rows["prompt"].map({text: fold_text(text) for text in rows["prompt"].unique()})
    rows["spelled"] = spelled.where(rows["prompt"] != "", "\0" + rows["prompt_id"].fillna(""))
    keys = {"source": _fill_empty(rows, "source", "own", tables), "prompt": rows["spelled"]}
    if same_text:
        keys["prompt_id"] = _fill_empty(rows, "prompt_id", "", tables)
    number = rows.groupby(list(keys.values()), sort=False).ngroup()
    for role in ("prompt_id", "category"):
        earlier = rows.groupby(number)[role].transform("first")
        differs = rows[role].notna() & (rows[role] != earlier) & (rows["prompt"] != "")
        remedy = ", or choose `same_text` keep" if role == "prompt_id" else ""
        for table, other in rows[differs].groupby("table"):
            has = f"an earlier row of the same prompt has {earlier[other.index[0]]!r:.60}"
            tables[table].refuse(role, other["row"].array, f"{has}; give one of them{remedy}")
        rows[role] = earlier.fillna("")
    rows["source"] = keys["source"]
    for index, table in enumerate(tables):
        table.rows[NUMBER] = number[rows["table"] == index].to_numpy()[groups[index]]
    texts = rows["prompt"].groupby(number)
    if several := int((texts.nunique() > 1).sum()):
        how = "that differ only in capitals, blanks, composed or invisible characters"
        note = f"{how_many(several, 'prompt')} in several spellings {how}; each counts as one"
        tables[0].notes.append(f"prompts: {note}, spelled as the first in order")
    rows["prompt"] = texts.transform("min")  # whatever the order of rows
    return rows.loc[~number.duplicated(), [*_KNOWN]].reset_index(drop=True)


def _fill_empty(rows: Any, role: str, nothing: str, tables: Sequence[LongTable]) -> Any:
    """Return the sources or ids of rows; an empty one is the only one that its text has, if any."""
    cells, texts = rows[role].fillna(""), rows["spelled"]
    named = rows.loc[cells != "", ["spelled", role]].drop_duplicates()
    named = named.sort_values(role).set_index("spelled")[role]
    several = named.index[named.index.duplicated()]
    for table, doubtful in rows[(cells == "") & texts.isin(several)].groupby("table"):
        text = doubtful["spelled"].iloc[0]
        tables[table].add_fault(
            "prompt",
            doubtful["row"].to_numpy(),
            f"no {role} for {text!r:.60}, which other rows have from "
            f"{', '.join(named[[text]])[:100]}; name the {role}",
        )
    only = texts.map(named[~named.index.duplicated()]).astype(object)
    return cells.where(cells != "", only.fillna(nothing))


def split_by_stratum(
    ids: Sequence[str],
    strata: Sequence[str],
    fractions: Mapping[str, float] | None = None,
    seed: int = 0,
) -> list[str]:
    """Deal prompts out to splits, in each stratum by the same shares.

    In each stratum the prompts are ordered by a digest of seed and id, so that neither their order
    in a file nor the machine matters, and cut into as many as `count_splits` returns.

    Args:
        ids: One a prompt, all different.
        strata: The stratum of each prompt.
        fractions: Split to share, summing to 1; default: 60, 20 and 20 %.

    Example:
        >>> split_by_stratum(list("abcde"), ["mscoco"] * 5)
        ['validation', 'test', 'train', 'train', 'train']
    """
    fractions = dict(fractions or FRACTIONS)
    if any(not 0 <= f <= 1 for f in fractions.values()) or abs(sum(fractions.values()) - 1) > 1e-9:
        raise BenchmarkError(f"fractions: {fractions}; give shares that sum to 1")
    digests = [hash_parts([f"{seed}\0{key}"]) for key in ids]
    rows = pd.DataFrame({"stratum": strata, "digest": digests}).sort_values("digest")
    members = list(rows.groupby("stratum").groups.values())
    counts = count_splits([len(positions) for positions in members], list(fractions.values()))
    split_of = np.empty(len(ids), dtype=object)
    for positions, sizes in zip(members, counts, strict=True):
        split_of[positions] = np.repeat(list(fractions), sizes)
    return split_of.tolist()


def describe_split(fractions: Mapping[str, float], seed: int) -> dict[str, object]:
    """Return the settings of `split_by_stratum` as plain values for cards and files.

    Example:
        >>> describe_split({"train": 0.8, "test": 0.2}, 0)["stratum"]
        'source'
    """
    rule = "in each stratum prompts in the order of the SHA-256 of seed and prompt, cut at shares"
    rule += "; prompts that differ only in capitals, blanks and final punctuation stay together"
    return {"rule": rule, "stratum": "source", "shares": dict(fractions), "seed": seed}


def count_splits(sizes: Sequence[int], shares: Sequence[float]) -> list[list[int]]:
    """Return the number of prompts of each stratum in each split.

    The first stratum is cut at the rounded shares. Of each further one every split gets the whole
    part of its share, and what is left goes, one each, to the splits that are furthest behind by
    then: each stratum is within one prompt of its shares, and all together within about one too.

    Returns:
        A list a stratum with a count a split.

    Example:
        >>> count_splits([2, 2, 2, 2, 2], [0.6, 0.2, 0.2])
        [[1, 1, 0], [1, 0, 1], [2, 0, 0], [1, 1, 0], [1, 0, 1]]
    """
    of_strata = []
    behind = [0.0] * len(shares)
    for number, size in enumerate(sizes):
        wanted = [size * share for share in shares]
        behind = [b + w for b, w in zip(behind, wanted, strict=True)]
        if number == 0:
            stops = [round(share * size) for share in itertools.accumulate(shares)]
            counts = [stop - start for start, stop in itertools.pairwise([0, *stops])]
        else:  # 0.2 * 15 is a little more than 3: such a rest is none
            counts = [math.floor(w + _REST) for w in wanted]
            partial = [n for n, w in enumerate(wanted) if w - counts[n] > _REST]
            # Rounded, so that the last digit of a sum does not decide between equals.
            partial.sort(key=lambda n: (-round(behind[n] - counts[n], 6), n))
            for n in partial[: size - sum(counts)]:
                counts[n] += 1
        behind = [b - c for b, c in zip(behind, counts, strict=True)]
        of_strata.append(counts)
    return of_strata
