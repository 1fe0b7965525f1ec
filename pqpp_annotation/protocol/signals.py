"""Detection of careless annotators, with an error rate that holds under continuous monitoring.

A signal is a behaviour that careless annotators show more often: disagreeing with others, answering
faster than anyone can read, giving all images the same value, choosing one side. For each signal
there is a maximum rate for honest annotators, on average over prompts. A bet that an annotator's
rate is higher wins on prompts that show the signal and loses on others. By Ville's inequality, at
most a share `ERROR` of honest annotators ever win 1 / `ERROR` times the stake, however often the
test is repeated. The bets on all signals of an annotator are averaged, so that `ERROR` covers all
signals together.

Disagreement is tested with a likelihood ratio: the probability of the answers on a prompt if the
annotator gives each label at their usual rate, whatever the prompt, divided by their probability if
the annotator is as careful as the least careful honest annotator and misreads some prompts.

Source: Ville, Etude critique de la notion de collectif, 1939; Ramdas et al., Game-theoretic
statistics and safe anytime-valid inference, Statistical Science 38, 2023. Dawid and Skene, Maximum
likelihood estimation of observer error-rates, Applied Statistics 28, 1979.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

from pqpp_annotation.kinds import TaskKind
from pqpp_annotation.study.prompts import REFERENCE
from pqpp_datasets.own_benchmark.trust.reason import Reason

if TYPE_CHECKING:
    import pandas

ERROR = 0.01
_STAKES = np.array([[0.2], [0.4], [0.9]])  # fractions of the largest stake that keeps bets positive
_MOST = 10**9  # maximum number of prompts
_STEPS = 25  # values of finer scales are rounded to this many steps
_LEAST_SHARED, _LEAST_ITEMS = 20, 5  # minimum votes and items of people in the usual rates
_HABITS = 0.15  # weight of each bet on a habit; bets on disagreement have the rest
_MISREAD = 0.1  # maximum share of prompts that an honest annotator misreads
_CAREFUL, _APART = (0.5, 0.9), 1  # bounds as shares of the usual care; standard deviations
_ROUNDS, _PRIOR = 15, 2.0  # iterations; pseudocounts
_OFTEN, _ONE_SIDE = 0.2, 0.75  # maximum honest share of too fast answers, and of one side
_WORD, _ANSWER = 1 / 12, 0.4  # minimum seconds to read a word and to choose an answer
_HASTE = Reason("answers faster than anyone can read")
_LINE = Reason("gives all images of an item the same value, unlike others")
_SIDE = Reason("mostly chooses the image on one side, unlike others")
_FAR = {
    "label": Reason("agrees with others far less than usual"),
    "scores": Reason("scores match others no better than chance"),
    "points": Reason("points match others no better than chance"),
    "words": Reason("marked words match others no better than chance"),
    "all": Reason("answers match others no better than chance"),
}


def find_careless_people(votes: pandas.DataFrame, kind: TaskKind) -> dict[str, Reason]:
    """Return the names of provably careless people, each with the main reason.

    Args:
        votes: Columns annotator (name), item_id, unit (integer id of the image or item that the
            answer is about), prompt_id, prompt, model, label, spent (seconds on the item, 0 if
            unknown), turned (whether the second image of a pair was on the left) and value.
        kind: The study's kind of task.

    Example:
        >>> import pandas
        >>> from pqpp_annotation.kinds import get_task_kind
        >>> draw = np.random.default_rng(0)
        >>> one = {"item_id": range(60), "unit": range(60), "prompt_id": range(60), "turned": False}
        >>> one |= {"prompt": "a cat", "model": "sdxl", "label": draw.integers(1, 6, 60)}
        >>> table = pandas.concat(
        ...     pandas.DataFrame({**one, "annotator": name, "spent": seconds, "value": None})
        ...     for name, seconds in (("ann", 4.0), ("bob", 5.0), ("hasty", 0.3)))
        >>> find_careless_people(table, get_task_kind("rating"))
        {'hasty': 'answers faster than anyone can read'}
    """
    votes = votes[votes["model"] != REFERENCE].reset_index(drop=True)
    if votes.empty:
        return {}
    who, prompt, unit = (votes[n].factorize()[0] for n in ("annotator", "prompt_id", "unit"))
    names = votes["annotator"].unique().tolist()
    people, of_prompt = len(names), who * _MOST + prompt
    said: dict[str, np.ndarray] = {}
    if first := kind.to_numbers(votes["value"].iloc[0], votes["prompt"].iloc[0]):
        marks = [kind.to_numbers(*row) for row in zip(votes["value"], votes["prompt"], strict=True)]
        for name in first:
            columns = [*zip_longest(*(mark[name] for mark in marks), fillvalue=np.nan)]
            said[name] = np.array(columns, float).reshape(-1, len(marks)).T
    said = said or {"label": votes[["label"]].to_numpy(float)}
    main = next(iter(said.values()))
    bets = []
    for reason, rows, sign, bound in _find_habit_signals(votes, who, kind, main):
        cell, prompts = np.unique(of_prompt[rows], return_inverse=True)
        # Votes on one prompt are not independent, so their mean counts once.
        mean = np.bincount(prompts, sign, len(cell)) / np.bincount(prompts)
        gains = np.log1p(_STAKES * (mean / bound - 1))
        won = np.array([np.bincount(cell // _MOST, bet, people) for bet in gains])
        bets.append((reason, _HABITS, won))
    found: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for name, values in said.items():
        row, place = np.nonzero(values == values)
        about = unit[row] * values.shape[1] + place
        found[name] = _compute_evidence(who[row], about, of_prompt[row], values[row, place], people)
    if len(found) > 1:
        cells, likelier = (np.concatenate(parts) for parts in zip(*found.values(), strict=True))
        found["all"] = cells, likelier
    for name, (cells, likelier) in found.items():
        cell, place = np.unique(cells, return_inverse=True)
        meant = np.log1p(-_MISREAD) - np.bincount(place, likelier, len(cell))
        gain = -np.logaddexp(np.log(_MISREAD), meant)
        bets.append((_FAR[name], 1 - _HABITS, np.bincount(cell // _MOST, gain, people)[None]))
    share = np.array([share / len(own) for _, share, own in bets for _ in own])
    won = np.concatenate([own for *_, own in bets])
    together = np.logaddexp.reduce(won + np.log(share / share.sum())[:, None], axis=0)
    best = np.array([own.max(axis=0) for *_, own in bets]).argmax(axis=0)
    careless = np.flatnonzero(together >= np.log(1 / ERROR))
    return {names[place]: bets[best[place]][0] for place in careless}


def _compute_evidence(
    who: np.ndarray, unit: np.ndarray, cell: np.ndarray, value: np.ndarray, people: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the cell of each shared vote, and its log likelihood ratio of chance to care."""
    # Model (after Dawid and Skene): with a probability called care, an annotator's vote depends on
    # the true value of the unit through a confusion matrix that all share; otherwise it is drawn
    # from the annotator's own label frequencies. Care, true values and the matrix are fitted by
    # expectation maximisation; an annotator's care is estimated from the other annotators' votes.
    # The least care of an honest annotator is one standard deviation below the median, but within
    # `_CAREFUL` of it. The arrays are empty if nobody shares `_LEAST_SHARED` units or all votes are
    # equal.
    kept = np.bincount(unit)[unit] > 1
    who, unit, cell, value = (column[kept] for column in (who, unit, cell, value))
    count = np.bincount(who, minlength=people)
    seen = count >= _LEAST_SHARED
    if not seen.any() or np.ptp(value) == 0:
        return cell[:0], value[:0]
    values, code = np.unique(value, return_inverse=True)
    if len(values) > _STEPS:
        rounded = np.round((value - value.min()) / np.ptp(value) * _STEPS)
        values, code = np.unique(rounded, return_inverse=True)
    steps, same = len(values), np.eye(len(values))
    pool = np.bincount(code) / len(code)
    said = np.bincount(who * steps + code, minlength=people * steps).reshape(people, steps)
    chance = (said[who, code] + _PRIOR * pool[code]) / (count[who] + _PRIOR)
    care, confusion = np.full(people, 0.5), 0.8 * same + 0.2 * pool
    for _ in range(_ROUNDS):
        cared = care[who]
        like = cared * confusion[:, code] + (1 - cared) * chance
        every = np.array([np.bincount(unit, one) for one in np.log(like)])
        every += np.log(pool)[:, None]
        others = every[:, unit] - np.log(like)
        truth, others = (np.exp(one - np.logaddexp.reduce(one)) for one in (every, others))
        meant = cared * truth[:, unit] * confusion[:, code] / like
        confusion = np.array([np.bincount(code, one, steps) for one in meant])
        confusion += _PRIOR * (pool + same) / 2
        confusion /= confusion.sum(axis=1, keepdims=True)
        expected = (others * confusion[:, code]).sum(axis=0)
        like = cared * expected + (1 - cared) * chance
        care = (np.bincount(who, cared * expected / like, people) + 0.5) / (count + 1)
    usual, high = np.quantile(care[seen], (0.5, 0.75))
    # Variance of care between annotators, from the upper half, without sampling noise.
    noise = 1 / np.bincount(who, ((expected - chance) / like) ** 2, people)[seen]
    apart = ((high - usual) / 0.6745) ** 2 - np.median(noise)
    least = np.clip(usual - _APART * max(apart, 0) ** 0.5, *np.multiply(_CAREFUL, usual))
    least /= 1 - _MISREAD
    return cell, -np.log(least * expected / chance + 1 - least)


def _find_habit_signals(
    votes: pandas.DataFrame, who: np.ndarray, kind: TaskKind, said: np.ndarray
) -> Iterator[tuple[Reason, np.ndarray, np.ndarray, float]]:
    """Yield a reason, vote indices, signals (0 or 1) and highest honest rate for each habit."""
    facts = {"low": np.nanmin(said, axis=1), "high": np.nanmax(said, axis=1)}
    facts |= {"who": who, "row": np.arange(len(votes)), "answers": (said == said).sum(axis=1)}
    of_item: Any = votes.assign(**facts).groupby(["who", "item_id"], sort=False)
    how = {name: "first" for name in ("row", "prompt", "spent")}
    items = of_item.agg({**how, "low": "min", "high": "max", "answers": "sum"})
    rows = items["row"].to_numpy()
    fastest = items["prompt"].str.split().str.len() * _WORD + items["answers"] * _ANSWER
    timed, several = (items["spent"] > 0).to_numpy(), (items["answers"] > 1).to_numpy()
    yield _HASTE, rows[timed], (items["spent"] < fastest).to_numpy(float)[timed], _OFTEN
    alike = (items["low"] == items["high"])[several]
    of_person = alike.groupby("who")
    usual = float(of_person.mean()[of_person.size() >= _LEAST_ITEMS].median())
    if usual < 1:
        yield _LINE, rows[several], alike.to_numpy(float), (1 + usual) / 2
    if "left" in kind.answer.model_fields:
        label = votes["label"].to_numpy(float)
        decided = np.flatnonzero(label)
        left = (np.where(votes["turned"], -label, label) > 0)[decided].astype(float)
        yield _SIDE, decided, left, _ONE_SIDE
        yield _SIDE, decided, 1 - left, _ONE_SIDE
