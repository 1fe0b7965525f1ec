"""Who does not do the work: signals of careless people, and a bound that holds at every look.

A signal is something that careless people do more than others: to be far from what the others say,
to answer faster than anybody reads, to give one value to all, to choose one side. Of each there is
what an honest person does at most, on the average over prompts. A bet that a person does more wins
on prompts on which that is so, and loses on others; by Ville's inequality no more than `ERROR` of
honest people ever win 1 / `ERROR` times their stake, however often one looks. All bets on a person
are averaged, so that the error is that of all signals together.

Source: Ville, Etude critique de la notion de collectif, 1939; Ramdas et al., Game-theoretic
statistics and safe anytime-valid inference, Statistical Science 38, 2023.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pqpp_annotation.kinds import TaskKind
from pqpp_annotation.study.prompts import REFERENCE
from pqpp_datasets.own_benchmark.trust.reason import Reason

if TYPE_CHECKING:
    import pandas

ERROR = 0.01
_STAKES = (0.2, 0.4, 0.9)  # of the most that cannot be lost at once
_STEPS = 25  # of a scale with more, values are rounded
_LEAST_SHARED = 20  # votes of those who say what is usual
_LEAST_ITEMS = 5  # items of the same
_HABITS = 0.15  # the share of a habit's bets, that of the others being the rest
_NEAREST = 0.7  # a prompt on which somebody is nearer to the others than so tells no more
_ROUNDS, _LEAST_WEIGHT = 5, 0.02
_OFTEN, _ONE_SIDE = 0.2, 0.75  # of an honest person's items as many may be too fast, on one side
_WORD, _ANSWER = 1 / 12, 0.4  # seconds: three times as fast as people read; to see and choose
_FAR = {
    "label": Reason("agrees with the others by under half of the usual, at every look"),
    "scores": Reason("gives scores that are as far from the others' as by chance"),
    "points": Reason("puts points as far from the others' as by chance"),
    "words": Reason("marks words that agree with the others' as by chance"),
    "all": Reason("gives answers that are as far from the others' as by chance"),
}


@dataclass(frozen=True)
class Signal:
    """What careless people do more than others.

    Attributes:
        reason: What it is, of who is named for it.
        who: int64 (cells,), the person, once for each prompt.
        sign: float64 (cells,), how much of it there is.
        bound: What honest people's mean is at most.
        least: How little of it there can be.
    """

    reason: Reason
    who: np.ndarray
    sign: np.ndarray
    bound: float
    least: float = 0.0

    def winnings(self, people: int) -> np.ndarray:
        """Return what each bet has won: float64 (stakes, people), logarithms."""
        beyond, most = self.sign / self.bound - 1, 1 / (1 - self.least / self.bound)
        bets = [np.log1p(stake * most * beyond) for stake in _STAKES]
        return np.array([np.bincount(self.who, bet, people) for bet in bets])


def _by_prompt(
    who: np.ndarray, prompt: np.ndarray, sign: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the person and the mean of each person's votes on a prompt, which may err together."""
    prompts = prompt.max(initial=0) + 1
    cell, place = np.unique(who * prompts + prompt, return_inverse=True)
    return cell // prompts, np.bincount(place, sign) / np.bincount(place)


def careless_people(
    votes: pandas.DataFrame,
    kind: TaskKind,
    fastest_seconds: float | None = None,
) -> dict[str, Reason]:
    """Return the names of people who are proven not to do the work, each with the main reason.

    Args:
        votes: With the columns annotator (the name), item_id, unit (what an answer is about, whole
            numbers), prompt_id, prompt, model, label, spent (seconds on the item, 0 where unknown),
            turned (whether the second of a pair was on the left), value.
        kind: The study's.
        fastest_seconds: An item that took less is too fast; by its words and images if None.

    Example:
        >>> import pandas
        >>> from pqpp_annotation.kinds import task_kind
        >>> draw = np.random.default_rng(0)
        >>> one = {"item_id": range(60), "unit": range(60), "prompt_id": range(60), "turned": False}
        >>> one |= {"prompt": "a cat", "model": "sdxl", "label": draw.integers(1, 6, 60)}
        >>> table = pandas.concat(
        ...     pandas.DataFrame({**one, "annotator": name, "spent": seconds, "value": None})
        ...     for name, seconds in (("ann", 4.0), ("bob", 5.0), ("hasty", 0.3)))
        >>> careless_people(table, task_kind("rating"))
        {'hasty': 'answers faster than anybody reads'}
    """
    votes = votes[votes["model"] != REFERENCE].reset_index(drop=True)
    if votes.empty:
        return {}
    who, prompt, unit = (votes[n].factorize()[0] for n in ("annotator", "prompt_id", "unit"))
    names = votes["annotator"].unique().tolist()
    marks = [kind.marks(*row) for row in zip(votes["value"], votes["prompt"], strict=True)]
    signals = [*_habits(votes, who, prompt, kind, marks, fastest_seconds)]
    habits, cells = len(signals), {}
    if not marks[0]:
        label = votes["label"].to_numpy(float)
        cells["label"] = _apart(who, unit, prompt, label, kind.level, len(names))
    for name in marks[0]:
        lengths = np.array([len(mark[name]) for mark in marks])
        place = np.concatenate([np.arange(length) for length in lengths])
        own, about, of_prompt = (np.repeat(column, lengths) for column in (who, unit, prompt))
        about = np.unique(about * lengths.max() + place, return_inverse=True)[1]
        value = np.concatenate([np.asarray(mark[name], float) for mark in marks])
        cells[name] = _apart(own, about, of_prompt, value, "ordinal", len(names))
    if len({len(own) for own, _ in cells.values()}) == 1 < len(cells):  # each has every answer
        far = np.mean([far for _, far in cells.values()], axis=0)
        cells["all"] = cells["scores"][0], far
    for name, cell in cells.items():
        signals += _half_way(_FAR[name], *cell, len(names)) if len(cell[0]) else ()
    if not signals:
        return {}
    won = np.array([signal.winnings(len(names)) for signal in signals])
    share = np.where(np.arange(len(won)) < habits, _HABITS, 1 - _HABITS)
    share /= share.sum() * won.shape[1]
    together = np.logaddexp.reduce(won + np.log(share)[:, None, None], axis=(0, 1))
    main = won.max(axis=1).argmax(axis=0)
    careless = np.flatnonzero(together >= np.log(1 / ERROR))
    return {names[place]: signals[main[place]].reason for place in careless}


def _apart(
    who: np.ndarray,
    unit: np.ndarray,
    prompt: np.ndarray,
    value: np.ndarray,
    level: str,
    people: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return how far votes are from the others' on the same, over how far they would be by chance.

    It is 1 for who answers at random or always alike. Others count by how little of it is theirs.

    Returns:
        The person and the mean of each person's votes on a prompt; nothing where too few tell.
    """
    kept = np.bincount(unit)[unit] > 1
    who, unit, prompt, value = (column[kept] for column in (who, unit, prompt, value))
    count = np.bincount(who, minlength=people)
    seen = count >= _LEAST_SHARED
    if not seen.any():
        return who[:0], value[:0]
    values, code = np.unique(value, return_inverse=True)
    if len(values) > _STEPS:
        rounded = np.round((value - value.min()) / np.ptp(value) * _STEPS)
        values, code = np.unique(rounded, return_inverse=True)
    apart = np.abs(values[:, None] - values)
    if level == "nominal":
        apart = np.sign(apart)
    cell, shape = unit * len(values) + code, (unit.max() + 1, len(values))
    counts = np.bincount(who * len(values) + code, minlength=people * len(values))
    own = counts.reshape(people, len(values)) / np.maximum(count, 1)[:, None]
    weight, far = np.ones(people), value
    for _ in range(_ROUNDS):
        given = np.bincount(cell, weight[who], shape[0] * shape[1]).reshape(shape)
        others = np.maximum(given.sum(axis=1)[unit] - weight[who], 1e-12)
        pool = np.bincount(code, weight[who])
        by_chance = np.maximum(own @ apart @ pool / pool.sum(), 1e-12)
        far = (given @ apart)[unit, code] / others / by_chance[who]
        mean = np.bincount(who, far, people) / np.maximum(count, 1)
        mean[~seen] = np.median(mean[seen])
        weight = np.maximum(1 - mean, _LEAST_WEIGHT)
    return _by_prompt(who, prompt, far)


def _half_way(reason: Reason, who: np.ndarray, far: np.ndarray, people: int) -> Iterator[Signal]:
    """Give the signals whose bound is half-way from the median person to chance.

    There are two: where honest people are near to the others, each prompt tells; where they are
    not, only how far the far ones are.
    """
    count = np.bincount(who, minlength=people)
    seen = count >= min(_LEAST_ITEMS, count.max(initial=0))
    for least in (0.0, _NEAREST):
        sign = np.maximum(far, least)
        mean = np.bincount(who, sign, people) / np.maximum(count, 1)
        yield Signal(reason, who, sign, (1 + min(float(np.median(mean[seen])), 1.0)) / 2, least)


def _habits(
    votes: pandas.DataFrame,
    who: np.ndarray,
    prompt: np.ndarray,
    kind: TaskKind,
    marks: list[dict[str, Sequence[float]]],
    fastest_seconds: float | None,
) -> Iterator[Signal]:
    """Give what is seen without the others' answers: haste, one value for all, one side."""
    said: list[Any] = [
        mark.get("scores", [label]) for mark, label in zip(marks, votes["label"], strict=True)
    ]
    of_item: Any = votes.assign(who=who, place=prompt, said=said)
    of_item = of_item.groupby(["who", "item_id"], sort=False)
    items = of_item[["who", "place", "prompt", "spent"]].first()
    values = of_item["said"].sum()
    answers = values.map(len)
    timed = items["spent"] > 0
    fastest: Any = fastest_seconds
    if fastest_seconds is None:
        fastest = items["prompt"].str.split().str.len() * _WORD + answers * _ANSWER
    haste = Reason("answers faster than anybody reads")
    line = Reason("gives one value to all of an item, where others do not")
    alike = values.map(set).map(len) == 1
    of_person: Any = alike[answers > 1].groupby(items["who"])
    usual = of_person.mean()[of_person.size() >= _LEAST_ITEMS].median()
    for reason, chosen, sign, bound in (
        (haste, timed, items["spent"] < fastest, _OFTEN),
        (line, answers > 1, alike, (1 + usual) / 2),
    ):
        if chosen.any() and bound < 1:
            own, place = (items.loc[chosen, name].to_numpy() for name in ("who", "place"))
            yield Signal(reason, *_by_prompt(own, place, sign[chosen].to_numpy(float)), bound)
    if "left" in kind.answer.model_fields:
        label = votes["label"].to_numpy(float)
        decided = np.flatnonzero(label)
        left = (np.where(votes["turned"], -label, label) > 0)[decided].astype(float)
        for side in (left, 1 - left):
            reason = Reason("chooses the image on one side, where others do not")
            yield Signal(reason, *_by_prompt(who[decided], prompt[decided], side), _ONE_SIDE)
