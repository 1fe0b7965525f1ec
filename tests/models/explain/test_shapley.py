"""Shapley values against brute force over permutations, games worked by hand, and sampling."""

from itertools import permutations

import numpy as np
import pytest

from pqpp_models.explain.shapley import EXACT, design


def mask_value(members, game):
    """Value each row of members by a function of a frozenset of players."""
    return np.array([game(frozenset(np.flatnonzero(row).tolist())) for row in members])


def by_all_orders(n, game):
    """Shapley's own definition: the mean step of a player over all orders of arrival."""
    shares = np.zeros(n)
    orders = list(permutations(range(n)))
    for order in orders:
        there = frozenset()
        for player in order:
            shares[player] += game(there | {player}) - game(there)
            there |= {player}
    return shares / len(orders)


def random_game(n, seed):
    table = np.random.default_rng(seed).normal(size=2**n)
    return lambda players: table[sum(1 << one for one in players)]


@pytest.mark.parametrize("n", range(1, 7))
def test_exact_shares_are_those_of_all_orders(n):
    game = random_game(n, n)
    plan = design(n)
    shares, errors = plan.share(mask_value(plan.members, game), game(frozenset()))
    assert shares == pytest.approx(by_all_orders(n, game), abs=1e-12)
    assert errors.tolist() == [0.0] * n and plan.permutations == 0


def test_glove_game():
    # Player 0 has a left glove, 1 and 2 a right one each; a pair is worth 1: 2/3, 1/6, 1/6.
    plan = design(3)
    values = mask_value(plan.members, lambda s: float(0 in s and bool(s & {1, 2})))
    assert plan.share(values, 0.0)[0] == pytest.approx([2 / 3, 1 / 6, 1 / 6], abs=1e-15)


@pytest.mark.parametrize("n", [1, EXACT, EXACT + 1, 33, 64])
def test_the_coalitions(n):
    members = design(n).members
    assert members.any(axis=1).all() and members[-1].all() and not members[:-1].all(axis=1).any()
    assert len(np.unique(members, axis=0)) == len(members)
    if n <= EXACT:
        assert len(members) == 2**n - 1


@pytest.mark.parametrize("n", [EXACT + 1, 12, 30, 64])
def test_sampled_shares_add_up_and_are_exact_for_a_sum(n):
    plan = design(n)
    weights = np.random.default_rng(n).normal(size=n)
    values = 3.0 + plan.members @ weights
    shares, errors = plan.share(values, 3.0)
    assert shares == pytest.approx(weights, abs=1e-9) and errors == pytest.approx(0, abs=1e-9)
    curved = np.sin(values)
    shares, errors = plan.share(curved, 0.25)
    assert shares.sum() == pytest.approx(curved[-1] - 0.25, abs=1e-12)
    assert (errors > 0).all()


def test_each_permutation_stands_beside_its_reverse():
    order = design(20).order
    assert (order[1::2] == order[::2, ::-1]).all()
    assert (np.sort(order, axis=1) == np.arange(20)).all()


def test_sampling_finds_the_exact_shares_within_its_errors():
    # A game of nine players of which the exact shares are known: all 2^9 values.
    n = EXACT + 1
    rng = np.random.default_rng(3)
    pull, pairs = rng.normal(size=n), np.triu(rng.normal(size=(n, n)), 1)

    def game(rows):
        rows = rows.astype(float)
        return np.tanh(rows @ pull + np.einsum("ri,ij,rj->r", rows, pairs, rows))

    everyone = (np.arange(1, 2**n)[:, None] >> np.arange(n)) & 1
    exact = np.linalg.lstsq(*_regression(everyone, game(everyone)), rcond=None)[0]
    scaled = []
    for seed in range(40):
        plan = design(n, 60, seed)
        shares, errors = plan.share(game(plan.members), 0.0)
        scaled.append((shares - exact) / errors)
    scaled = np.array(scaled)
    # Student's t with 29 degrees of freedom: mean 0, deviation 1.04
    assert abs(scaled.mean()) < 0.15
    assert 0.85 < scaled.std() < 1.25


def _regression(members, values):
    """Shapley values as a weighted regression (Charnes and others, 1988), weights squared in."""
    from math import comb

    n = members.shape[1]
    sizes = members.sum(axis=1)
    weights = [
        1e6 if k == n else np.sqrt((n - 1) / (comb(n, k) * k * (n - k))) for k in sizes.tolist()
    ]
    return members * np.array(weights)[:, None], values * weights
