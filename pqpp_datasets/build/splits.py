"""A split that depends on nothing but the prompts and a seed."""

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence

from pqpp_datasets.errors import OptionError

FRACTIONS = {"train": 0.6, "validation": 0.2, "test": 0.2}


def stratified_split(
    ids: Sequence[str],
    strata: Sequence[str],
    fractions: Mapping[str, float] | None = None,
    seed: int = 0,
) -> list[str]:
    """Deal prompts out to splits, in each stratum by the same shares.

    In each stratum the prompts are ordered by a digest of seed and id and cut at the rounded
    shares, so that neither their order in a file nor the machine has a say.

    Args:
        ids: One a prompt, all different.
        strata: The stratum of each prompt.
        fractions: Split to share, summing to 1; 60, 20 and 20 % if left out.
        seed: Any whole number.

    Returns:
        The split of each prompt.

    Raises:
        OptionError: If the shares are negative or don't sum to 1.

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
    found = [""] * len(ids)
    for positions in members.values():
        positions.sort(key=lambda p: hashlib.sha256(f"{seed}\0{ids[p]}".encode()).digest())
        start, share = 0, 0.0
        for name, fraction in fractions.items():
            share += fraction
            stop = round(share * len(positions))
            for position in positions[start:stop]:
                found[position] = name
            start = stop
    return found
