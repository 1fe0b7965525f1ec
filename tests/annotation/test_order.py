"""Orders are each person's own, stable and even; control items keep their share at every prefix."""

import collections

from hypothesis import given
from hypothesis import strategies as st

from pqpp_annotation.protocol.order import is_control_at, shuffle_ids

SEEDS = st.integers(0, 2**63 - 1)
PEOPLE = st.integers(1, 10**6)


@given(SEEDS, PEOPLE, st.integers(2, 30), st.integers(1, 400))
def test_the_share_of_control_items_is_right_after_every_prefix(seed, person, every, length):
    places = [is_control_at(place, every, seed, person) for place in range(length)]
    for end in range(1, length + 1):
        assert abs(sum(places[:end]) - end / every) < 1
    whole = length // every * every
    groups = [sum(places[start : start + every]) for start in range(0, whole, every)]
    assert set(groups) <= {1}


@given(SEEDS, PEOPLE, st.sets(st.integers(1, 10**9), max_size=50), st.sets(st.integers(1, 10**9)))
def test_what_is_added_leaves_the_order_of_what_was_there(seed, person, ids, added):
    order = shuffle_ids(ids, seed, person)
    assert sorted(order) == sorted(ids)
    assert shuffle_ids(sorted(ids, reverse=True), seed, person) == order
    assert [one for one in shuffle_ids(ids | added, seed, person) if one in ids] == order


def test_every_place_is_as_likely_as_another():
    # 3,000 people, 5 items: 25 cells of 600 each; the bound is five standard deviations.
    counts = collections.Counter(
        (place, item)
        for person in range(3000)
        for place, item in enumerate(shuffle_ids(range(5), 0, "work", person))
    )
    assert len(counts) == 25
    assert all(abs(count - 600) < 5 * (3000 * 0.2 * 0.8) ** 0.5 for count in counts.values())


def test_every_place_of_a_group_is_as_likely_to_hold_the_control_item():
    counts = collections.Counter(
        place for person in range(3000) for place in range(6) if is_control_at(place, 6, 0, person)
    )
    assert sum(counts.values()) == 3000
    assert all(abs(counts[place] - 500) < 5 * (3000 * 5 / 36) ** 0.5 for place in range(6))
