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
_MOST_PROMPTS = 10**9
_MOST_VALUES = 25  # finer scales are rounded to this many steps
_LEAST_SHARED, _LEAST_ITEMS = 20, 5  # minimum votes and items of people in the usual rates
_HABIT_WEIGHT = 0.15  # weight of each bet on a habit; bets on disagreement have the rest
_MISREAD_RATE = 0.1  # maximum share of prompts that an honest annotator misreads
_CARE_BOUNDS = (0.5, 0.9)  # of the least honest care, as shares of the median care
_ITERATIONS, _PSEUDOCOUNT = 15, 2.0
_HASTE_RATE, _SIDE_RATE = 0.2, 0.75  # maximum honest share of too fast answers, and of one side
_WORD_TIME, _ANSWER_TIME = 1 / 12, 0.4  # minimum seconds to read a word and to choose an answer
_TOO_FAST = Reason("answers faster than anyone can read")
_CONSTANT = Reason("gives all images of an item the same value, unlike others")
_ONE_SIDED = Reason("mostly chooses the image on one side, unlike others")
_DISAGREEMENT = {
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
        >>> ids = {"item_id": range(60), "unit": range(60), "prompt_id": range(60)}
        >>> columns = {"prompt": "a cat", "model": "sdxl", "label": draw.integers(1, 6, 60)}
        >>> columns |= {"turned": False, "value": None}
        >>> table = pandas.concat(
        ...     pandas.DataFrame({**ids, **columns, "annotator": name, "spent": seconds})
        ...     for name, seconds in (("ann", 4.0), ("bob", 5.0), ("hasty", 0.3)))
        >>> find_careless_people(table, get_task_kind("rating"))
        {'hasty': 'answers faster than anyone can read'}
    """
    votes = votes[votes["model"] != REFERENCE].reset_index(drop=True)
    if votes.empty:
        return {}
    person, prompt, unit = (votes[n].factorize()[0] for n in ("annotator", "prompt_id", "unit"))
    names = votes["annotator"].unique().tolist()
    n_people, cell = len(names), person * _MOST_PROMPTS + prompt  # a cell is a person and a prompt
    numbers: dict[str, np.ndarray] = {"label": votes[["label"]].to_numpy(float)}
    rows = zip(votes["value"], votes["prompt"], strict=True)
    answers = [kind.to_numbers(value, text) for value, text in rows]
    if answers[0]:
        numbers = {}
        for name in answers[0]:
            columns = [*zip_longest(*(answer[name] for answer in answers), fillvalue=np.nan)]
            numbers[name] = np.array(columns, float).reshape(-1, len(answers)).T
    bets = []
    habits = _find_habit_signals(votes, person, kind, next(iter(numbers.values())))
    for reason, indices, signal, rate in habits:
        cells, code = np.unique(cell[indices], return_inverse=True)
        # Votes on one prompt are not independent, so their mean counts once.
        mean = np.bincount(code, signal, len(cells)) / np.bincount(code)
        gains = np.log1p(_STAKES * (mean / rate - 1))
        wealth = np.array([np.bincount(cells // _MOST_PROMPTS, gain, n_people) for gain in gains])
        bets.append((reason, _HABIT_WEIGHT, wealth))
    evidence: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for name, values in numbers.items():
        row, column = np.nonzero(~np.isnan(values))
        target, value = unit[row] * values.shape[1] + column, values[row, column]
        evidence[name] = _compute_evidence(person[row], target, cell[row], value, n_people)
    if len(evidence) > 1:
        all_cells, all_ratios = map(np.concatenate, zip(*evidence.values(), strict=True))
        evidence["all"] = all_cells, all_ratios
    for name, (vote_cells, log_ratios) in evidence.items():
        cells, code = np.unique(vote_cells, return_inverse=True)
        careful = np.log1p(-_MISREAD_RATE) - np.bincount(code, log_ratios, len(cells))
        gain = -np.logaddexp(np.log(_MISREAD_RATE), careful)
        wealth = np.bincount(cells // _MOST_PROMPTS, gain, n_people)[None]
        bets.append((_DISAGREEMENT[name], 1 - _HABIT_WEIGHT, wealth))
    weights = np.array([weight / len(wealth) for _, weight, wealth in bets for _ in wealth])
    log_wealth = np.concatenate([wealth for *_, wealth in bets])
    total = np.logaddexp.reduce(log_wealth + np.log(weights / weights.sum())[:, None], axis=0)
    best = np.array([wealth.max(axis=0) for *_, wealth in bets]).argmax(axis=0)
    return {names[n]: bets[best[n]][0] for n in np.flatnonzero(total >= np.log(1 / ERROR))}


def _compute_evidence(
    person: np.ndarray, unit: np.ndarray, cell: np.ndarray, value: np.ndarray, n_people: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the cell of each shared vote, and its log likelihood ratio of chance to care."""
    # Model (after Dawid and Skene): with a probability called care, an annotator's vote depends on
    # the true value of the unit through a confusion matrix that all share; otherwise it is drawn
    # from the annotator's own label frequencies. Care, true values and the matrix are fitted by
    # expectation maximisation; an annotator's care is estimated from the other annotators' votes.
    # The least care of an honest annotator is one standard deviation below the median, but within
    # `_CARE_BOUNDS` of it. The arrays are empty if nobody shares `_LEAST_SHARED` units or all votes
    # are equal.
    is_shared = np.bincount(unit)[unit] > 1
    person, unit, cell, value = (column[is_shared] for column in (person, unit, cell, value))
    count = np.bincount(person, minlength=n_people)
    has_enough = count >= _LEAST_SHARED
    if not has_enough.any() or np.ptp(value) == 0:
        return cell[:0], value[:0]
    values, code = np.unique(value, return_inverse=True)
    if len(values) > _MOST_VALUES:
        rounded = np.round((value - value.min()) / np.ptp(value) * _MOST_VALUES)
        values, code = np.unique(rounded, return_inverse=True)
    k, identity = len(values), np.eye(len(values))
    prior = np.bincount(code) / len(code)
    counts = np.bincount(person * k + code, minlength=n_people * k).reshape(n_people, k)
    chance = (counts[person, code] + _PSEUDOCOUNT * prior[code]) / (count[person] + _PSEUDOCOUNT)
    care, confusion = np.full(n_people, 0.5), 0.8 * identity + 0.2 * prior
    for _ in range(_ITERATIONS):
        p_care = care[person]
        likelihood = p_care * confusion[:, code] + (1 - p_care) * chance
        log_joint = np.array([np.bincount(unit, row) for row in np.log(likelihood)])
        log_joint += np.log(prior)[:, None]
        others = log_joint[:, unit] - np.log(likelihood)
        truth, others = (np.exp(x - np.logaddexp.reduce(x)) for x in (log_joint, others))
        weights = p_care * truth[:, unit] * confusion[:, code] / likelihood
        confusion = np.array([np.bincount(code, row, k) for row in weights])
        confusion += _PSEUDOCOUNT * (prior + identity) / 2
        confusion /= confusion.sum(axis=1, keepdims=True)
        expected = (others * confusion[:, code]).sum(axis=0)
        likelihood = p_care * expected + (1 - p_care) * chance
        care = (np.bincount(person, p_care * expected / likelihood, n_people) + 0.5) / (count + 1)
    median, upper = np.quantile(care[has_enough], (0.5, 0.75))
    # Variance of care between annotators, from the upper half, without sampling noise.
    noise = 1 / np.bincount(person, ((expected - chance) / likelihood) ** 2, n_people)[has_enough]
    variance = ((upper - median) / 0.6745) ** 2 - np.median(noise)
    least = np.clip(median - max(variance, 0) ** 0.5, *np.multiply(_CARE_BOUNDS, median))
    least /= 1 - _MISREAD_RATE
    return cell, -np.log(least * expected / chance + 1 - least)


def _find_habit_signals(
    votes: pandas.DataFrame, person: np.ndarray, kind: TaskKind, numbers: np.ndarray
) -> Iterator[tuple[Reason, np.ndarray, np.ndarray, float]]:
    """Yield a reason, vote indices, signals (0 or 1) and highest honest rate for each habit."""
    table = votes.assign(low=np.nanmin(numbers, axis=1), high=np.nanmax(numbers, axis=1))
    table["person"], table["row"] = person, np.arange(len(votes))
    table["answers"] = (~np.isnan(numbers)).sum(axis=1)
    firsts = {name: "first" for name in ("row", "prompt", "spent")}
    groups: Any = table.groupby(["person", "item_id"], sort=False)
    items = groups.agg({**firsts, "low": "min", "high": "max", "answers": "sum"})
    rows = items["row"].to_numpy()
    min_time = items["prompt"].str.split().str.len() * _WORD_TIME + items["answers"] * _ANSWER_TIME
    is_timed, has_several = (items["spent"] > 0).to_numpy(), (items["answers"] > 1).to_numpy()
    is_hasty = (items["spent"] < min_time).to_numpy(float)
    yield _TOO_FAST, rows[is_timed], is_hasty[is_timed], _HASTE_RATE
    is_constant = (items["low"] == items["high"])[has_several]
    by_person = is_constant.groupby("person")
    usual_rate = float(by_person.mean()[by_person.size() >= _LEAST_ITEMS].median())
    if usual_rate < 1:
        yield _CONSTANT, rows[has_several], is_constant.to_numpy(float), (1 + usual_rate) / 2
    if "left" in kind.answer.model_fields:
        label = votes["label"].to_numpy(float)
        decided = np.flatnonzero(label)
        left = (np.where(votes["turned"], -label, label) > 0)[decided].astype(float)
        yield _ONE_SIDED, decided, left, _SIDE_RATE
        yield _ONE_SIDED, decided, 1 - left, _SIDE_RATE
