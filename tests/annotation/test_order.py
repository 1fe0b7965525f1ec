"""Random orders of items, and positions of control items."""

import collections

from hypothesis import given
from hypothesis import strategies as st

from pqpp_annotation.protocol.order import is_control_at, shuffle_ids

SEEDS = st.integers(0, 2**63 - 1)
PEOPLE = st.integers(1, 10**6)


@given(SEEDS, PEOPLE, st.integers(2, 30), st.integers(1, 400))
def test_control_share_is_right_after_every_prefix(seed, person, every, length):
    is_control = [is_control_at(position, every, seed, person) for position in range(length)]
    for end in range(1, length + 1):
        assert abs(sum(is_control[:end]) - end / every) < 1
    whole = length // every * every
    groups = [sum(is_control[start : start + every]) for start in range(0, whole, every)]
    assert set(groups) <= {1}


@given(SEEDS, PEOPLE, st.sets(st.integers(1, 10**9), max_size=50), st.sets(st.integers(1, 10**9)))
def test_added_ids_keep_the_order_of_existing_ids(seed, person, ids, added):
    order = shuffle_ids(ids, seed, person)
    assert sorted(order) == sorted(ids)
    assert shuffle_ids(sorted(ids, reverse=True), seed, person) == order
    assert [x for x in shuffle_ids(ids | added, seed, person) if x in ids] == order


def test_item_positions_are_uniform():
    # 3,000 people, 5 items: 25 cells of 600 each; the bound is five standard deviations.
    counts = collections.Counter(
        (position, item)
        for person in range(3000)
        for position, item in enumerate(shuffle_ids(range(5), 0, "work", person))
    )
    assert len(counts) == 25
    assert all(abs(count - 600) < 5 * (3000 * 0.2 * 0.8) ** 0.5 for count in counts.values())


def test_control_positions_are_uniform():
    counts = collections.Counter(
        k for person in range(3000) for k in range(6) if is_control_at(k, 6, 0, person)
    )
    assert sum(counts.values()) == 3000
    assert all(abs(counts[k] - 500) < 5 * (3000 * 5 / 36) ** 0.5 for k in range(6))
