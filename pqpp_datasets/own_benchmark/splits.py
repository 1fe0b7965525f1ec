"""A split that depends on nothing but the prompts and a seed."""

import itertools
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

from pqpp_datasets.errors import OptionError
from pqpp_files.hashes import sha256_of_parts

FRACTIONS = {"train": 0.6, "validation": 0.2, "test": 0.2}
_REST = 1e-9


def stratified_split(
    ids: Sequence[str],
    strata: Sequence[str],
    fractions: Mapping[str, float] | None = None,
    seed: int = 0,
) -> list[str]:
    """Deal prompts out to splits, in each stratum by the same shares.

    In each stratum the prompts are ordered by a digest of seed and id, so that neither their order
    in a file nor the machine has a say, and cut into as many as `split_counts` says.

    Args:
        ids: One a prompt, all different.
        strata: The stratum of each prompt.
        fractions: Split to share, summing to 1; 60, 20 and 20 % if left out.

    Example:
        >>> stratified_split(list("abcde"), ["mscoco"] * 5)
        ['validation', 'test', 'train', 'train', 'train']
    """
    fractions = dict(fractions or FRACTIONS)
    if any(not 0 <= f <= 1 for f in fractions.values()) or abs(sum(fractions.values()) - 1) > 1e-9:
        raise OptionError(
            f"fractions of the splits: {fractions} came, shares from 0 to 1 that sum to 1 are "
            "allowed"
        )
    members = defaultdict(list)
    for position, stratum in enumerate(strata):
        members[stratum].append(position)
    ordered = sorted(members)
    counts = split_counts([len(members[s]) for s in ordered], list(fractions.values()))
    found = [""] * len(ids)
    for stratum, own in zip(ordered, counts, strict=True):
        positions = sorted(
            members[stratum],
            key=lambda p: sha256_of_parts([f"{seed}\0{ids[p]}"]),
        )
        names = [name for name, count in zip(fractions, own, strict=True) for _ in range(count)]
        for position, name in zip(positions, names, strict=True):
            found[position] = name
    return found


def split_rule(fractions: Mapping[str, float], seed: int) -> dict[str, object]:
    """Return how `stratified_split` makes splits, as plain values for cards and files.

    Example:
        >>> split_rule({"train": 0.8, "test": 0.2}, 0)["stratum"]
        'source'
    """
    rule = "in each stratum prompts in the order of the SHA-256 of seed and prompt, cut at shares"
    rule += "; prompts that differ in capitals, blanks and marks at the end alone stay together"
    return {"rule": rule, "stratum": "source", "shares": dict(fractions), "seed": seed}


def split_counts(sizes: Sequence[int], shares: Sequence[float]) -> list[list[int]]:
    """Say how many prompts of each stratum go to each split.

    The first stratum is cut at the rounded shares. Of each further one every split gets the whole
    part of its share, and what is left goes, one each, to the splits that are furthest behind by
    then: each stratum is within one prompt of its shares, and all together within about one too.

    Returns:
        A list a stratum with a count a split.

    Example:
        >>> split_counts([2, 2, 2, 2, 2], [0.6, 0.2, 0.2])
        [[1, 1, 0], [1, 0, 1], [2, 0, 0], [1, 1, 0], [1, 0, 1]]
    """
    found = []
    behind = [0.0] * len(shares)
    for number, size in enumerate(sizes):
        wanted = [size * share for share in shares]
        behind = [b + w for b, w in zip(behind, wanted, strict=True)]
        counts = _rounded(size, shares) if number == 0 else _carried(size, wanted, behind)
        behind = [b - c for b, c in zip(behind, counts, strict=True)]
        found.append(counts)
    return found


def _rounded(size: int, shares: Sequence[float]) -> list[int]:
    stops = [round(share * size) for share in itertools.accumulate(shares)]
    return [stop - start for start, stop in zip([0, *stops], stops, strict=False)]


def _carried(size: int, wanted: Sequence[float], behind: Sequence[float]) -> list[int]:
    # 0.2 * 15 is a little more than 3: such a rest is none.
    counts = [math.floor(w + _REST) for w in wanted]
    partial = [n for n, w in enumerate(wanted) if w - counts[n] > _REST]
    # Rounded, so that the last digit of a sum does not decide between equals.
    partial.sort(key=lambda n: (-round(behind[n] - counts[n], 6), n))
    for n in partial[: size - sum(counts)]:
        counts[n] += 1
    return counts
