"""Number the prompts of several files, and split them.

A prompt is identified by its text and source; splits depend only on the prompts and a seed.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from pqpp_datasets.errors import BenchmarkError
from pqpp_datasets.own_benchmark.long_table import PROMPT, LongTable
from pqpp_datasets.pqpp import IDENTITIES
from pqpp_datasets.prompt_text import fold_text, normalise
from pqpp_files.hashes import hash_parts
from pqpp_files.names import pluralize

_TOLERANCE = 1e-9
_IDENTITY_ROLES = ("source", "prompt", "prompt_id", "category")


def make_identity_table(prompts: pd.DataFrame) -> pa.Table:
    """Return the prompts in PQPP's identity columns: `prompt_id`, `source`, `prompt` and others.

    The default `prompt_id` is `<source>-<n>`, where n counts the prompts of the source.

    Raises:
        BenchmarkError: Two prompts have the same id.
    """
    default_ids = prompts["source"] + "-" + prompts.groupby("source").cumcount().astype(str)
    ids = prompts["prompt_id"].where(prompts["prompt_id"] != "", default_ids)
    if (is_duplicate := ids.duplicated().to_numpy()).any():
        duplicate = ids[is_duplicate.argmax()]
        first, second = prompts["prompt"][ids == duplicate].str[:40].tolist()[:2]
        problem = f"the prompts {first!r} and {second!r} have the same prompt_id {duplicate!r}"
        raise BenchmarkError(f"{problem}; change one of the ids")
    categories = [category or None for category in prompts["category"]]
    values = {**prompts, "prompt_id": ids, "category": categories}
    columns = {name: values.get(name, [None] * len(prompts)) for name in IDENTITIES}
    return pa.table(columns, schema=pa.schema(IDENTITIES))


def assign_splits(prompts: pd.DataFrame, fractions: Mapping[str, float], seed: int) -> np.ndarray:
    """Return the split of each prompt, by `split_strata` with sources as strata.

    Prompts are identified by the user's ids, or else by source and text. Prompts with the same
    normalised text, such as "A dog." and "a dog", are in the same split. A prompt without text is
    in no split ("").
    """
    identities = zip(prompts["prompt_id"], prompts["source"], prompts["prompt"], strict=True)
    keys = [prompt_id or f"{source}\0{prompt}" for prompt_id, source, prompt in identities]
    texts = prompts["prompt"].map(normalise)
    first = prompts.assign(key=keys, text=texts).sort_values(["source", "key"])
    first = first[first["prompt"] != ""].drop_duplicates("text")
    splits = split_strata(first["key"].tolist(), first["source"].tolist(), fractions, seed)
    split_of = texts.map(dict(zip(first["text"], splits, strict=True)))
    return split_of.where(prompts["prompt"] != "", "").to_numpy()


def number_prompts(tables: Sequence[LongTable], same_text: bool = False) -> pd.DataFrame:
    """Number the prompts of all tables, and add the column `PROMPT` to each.

    Texts that are equal after `fold_text` are one prompt, spelled like the first of them in sort
    order; a note says how many were merged. A row without text is identified by its id. A row
    without a source gets the source of other rows with its text if there is exactly one. Different
    ids or categories of a prompt, and ambiguous sources, become error lines.

    Args:
        tables: Tables with `prompt` and, optionally, `source`, `prompt_id` and `category`.
        same_text: Whether equal texts with different ids are different prompts.

    Returns:
        One row per prompt, in order of appearance: `source`, `prompt`, and `prompt_id` and
        `category`, which can be "".

    Example:
        >>> import pandas as pd
        >>> rows = {"prompt": ["A cat.", "A cat."], "source": ["", "coco"]}
        >>> table = LongTable(pd.DataFrame(rows, dtype="category"), "votes.csv")
        >>> prompts = number_prompts([table])
        >>> table.rows[PROMPT].tolist(), prompts["source"].tolist()
        ([0, 0], ['coco'])
    """
    groups, firsts = [], []
    for index, table in enumerate(tables):
        roles = [role for role in _IDENTITY_ROLES if role in table.rows]
        groups.append(table.rows.groupby(roles, observed=True, sort=False).ngroup().to_numpy())
        first = np.unique(groups[-1], return_index=True)[1]
        firsts.append(table.rows.loc[first, roles].astype(object).assign(table=index, row=first))
    rows = pd.concat(firsts, ignore_index=True)
    rows = rows.reindex(columns=["table", "row", *_IDENTITY_ROLES]).astype(object)
    # Each distinct text is normalised once.
    folded = rows["prompt"].map({text: fold_text(text) for text in rows["prompt"].unique()})
    rows["folded"] = folded.where(rows["prompt"] != "", "\0" + rows["prompt_id"].fillna(""))
    keys = {"source": _fill_empty_cells(rows, "source", "own", tables), "prompt": rows["folded"]}
    if same_text:
        keys["prompt_id"] = _fill_empty_cells(rows, "prompt_id", "", tables)
    number = rows.groupby(list(keys.values()), sort=False).ngroup()
    for role in ("prompt_id", "category"):
        earlier = rows.groupby(number)[role].transform("first")
        differs = rows[role].notna() & (rows[role] != earlier) & (rows["prompt"] != "")
        remedy = ", or set `same_text` to keep" if role == "prompt_id" else ""
        for table, other in rows[differs].groupby("table"):
            fault = f"but an earlier row of the prompt has {earlier[other.index[0]]!r:.60}"
            tables[table].report_cells(role, other["row"].array, f"{fault}; correct either{remedy}")
        rows[role] = earlier.fillna("")
    rows["source"] = keys["source"]
    for index, table in enumerate(tables):
        table.rows[PROMPT] = number[rows["table"] == index].to_numpy()[groups[index]]
    texts = rows["prompt"].groupby(number)
    if merged := int((texts.nunique() > 1).sum()):
        reason = "that differ only in capitals, blanks, composed or invisible characters"
        note = f"{pluralize(merged, 'prompt')} in several spellings {reason}; each counts as one"
        tables[0].notes.append(f"prompts: {note}, with the first spelling in sort order")
    rows["prompt"] = texts.transform("min")
    return rows.loc[~number.duplicated(), [*_IDENTITY_ROLES]].reset_index(drop=True)


def _fill_empty_cells(rows: Any, role: str, default: str, tables: Sequence[LongTable]) -> Any:
    """Fill a role's empty cells from rows with the same prompt text, else with `default`."""
    cells, texts = rows[role].fillna(""), rows["folded"]
    filled = rows.loc[cells != "", ["folded", role]].drop_duplicates()
    filled = filled.sort_values(role).set_index("folded")[role]
    ambiguous = filled.index[filled.index.duplicated()]
    for table, empty_rows in rows[(cells == "") & texts.isin(ambiguous)].groupby("table"):
        text = empty_rows["folded"].iloc[0]
        values = ", ".join(filled[[text]])[:100]
        fault = f"{role} of {text!r:.60} is empty, but other rows have {values}; fill in the cell"
        tables[table].add_fault("prompt", empty_rows["row"].to_numpy(), fault)
    unique_values = texts.map(filled[~filled.index.duplicated()]).astype(object)
    return cells.where(cells != "", unique_values.fillna(default))


def split_strata(
    ids: Sequence[str], strata: Sequence[str], fractions: Mapping[str, float], seed: int = 0
) -> list[str]:
    """Assign prompts to splits at random, with the same shares in each stratum.

    In each stratum, prompts are ordered by a hash of seed and id, and cut into the numbers that
    `allocate_prompts` returns.

    Args:
        ids: Distinct ids of the prompts.
        strata: Stratum of each prompt.
        fractions: Share of each split; they sum to 1.

    Raises:
        BenchmarkError: A share is not from 0 to 1, or the sum is not 1.

    Example:
        >>> split_strata(list("abcde"), ["mscoco"] * 5, {"train": 0.8, "test": 0.2})
        ['train', 'test', 'train', 'train', 'train']
    """
    if any(not 0 <= f <= 1 for f in fractions.values()) or abs(sum(fractions.values()) - 1) > 1e-9:
        got = ", ".join(f"{name}={share:g}" for name, share in fractions.items())
        raise BenchmarkError(f"`fractions` must be from 0 to 1 and sum to 1; got {got}")
    digests = [hash_parts([f"{seed}\0{key}"]) for key in ids]
    rows = pd.DataFrame({"stratum": strata, "digest": digests}).sort_values("digest")
    members = list(rows.groupby("stratum").groups.values())
    counts = allocate_prompts([len(positions) for positions in members], list(fractions.values()))
    split_of = np.empty(len(ids), dtype=object)
    for positions, sizes in zip(members, counts, strict=True):
        split_of[positions] = np.repeat(list(fractions), sizes)
    return split_of.tolist()


def describe_split(fractions: Mapping[str, float], seed: int) -> dict[str, object]:
    """Return the settings of `split_strata` as plain values for the dataset's card.

    Example:
        >>> describe_split({"train": 0.8, "test": 0.2}, 0)["stratum"]
        'source'
    """
    rule = "in each stratum, prompts are sorted by the SHA-256 of seed and prompt and cut at shares"
    rule += "; prompts that differ only in capitals, blanks and final punctuation stay together"
    return {"rule": rule, "stratum": "source", "shares": dict(fractions), "seed": seed}


def allocate_prompts(sizes: Sequence[int], shares: Sequence[float]) -> list[list[int]]:
    """Return the number of prompts of each stratum in each split.

    The first stratum is cut at rounded cumulative shares. In other strata, each split gets the
    integer part of its share, and the remaining prompts go to the splits that are furthest below
    their share of the total. Thus the counts in each stratum, and in total, differ from the shares
    by about one prompt at most.

    Args:
        sizes: Number of prompts of each stratum.
        shares: Share of each split.

    Returns:
        One list per stratum with one count per split.

    Example:
        >>> allocate_prompts([2, 2, 2, 2, 2], [0.6, 0.2, 0.2])
        [[1, 1, 0], [1, 0, 1], [2, 0, 0], [1, 1, 0], [1, 0, 1]]
    """
    counts_of_strata = []
    deficits = [0.0] * len(shares)
    for number, size in enumerate(sizes):
        targets = [size * share for share in shares]
        deficits = [d + target for d, target in zip(deficits, targets, strict=True)]
        if number == 0:
            stops = [round(share * size) for share in itertools.accumulate(shares)]
            counts = [stop - start for start, stop in itertools.pairwise([0, *stops])]
        else:  # 0.2 * 15 is slightly more than 3 in floating point
            counts = [math.floor(target + _TOLERANCE) for target in targets]
            splits = [n for n, target in enumerate(targets) if target - counts[n] > _TOLERANCE]
            # Rounding makes equal sums ties.
            splits.sort(key=lambda n: (-round(deficits[n] - counts[n], 6), n))
            for n in splits[: size - sum(counts)]:
                counts[n] += 1
        deficits = [d - count for d, count in zip(deficits, counts, strict=True)]
        counts_of_strata.append(counts)
    return counts_of_strata
