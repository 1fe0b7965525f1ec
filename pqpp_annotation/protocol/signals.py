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

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pqpp_annotation.kinds import TaskKind
from pqpp_annotation.study.prompts import REFERENCE
from pqpp_datasets.own_benchmark.trust.reason import Reason

if TYPE_CHECKING:
    import pandas

ERROR = 0.01
_STAKES = np.array([[0.2], [0.4], [0.9]])  # of the most that cannot be lost at once
_MOST = 10**9  # prompts
_STEPS = 25  # of a scale with more, values are rounded
_LEAST_SHARED, _LEAST_ITEMS = 20, 5  # votes and items of those who say what is usual
_HABITS = 0.15  # the share of a habit's bets, that of the others being the rest
_NEAREST = 0.7  # who is nearer to the others on a prompt tells no more
_ROUNDS, _LEAST_WEIGHT = 5, 0.02
_OFTEN, _ONE_SIDE = 0.2, 0.75  # of an honest person's items as many may be too fast, on one side
_WORD, _ANSWER = 1 / 12, 0.4  # seconds: three times as fast as people read; to see and choose
_HASTE = Reason("answers faster than anybody reads")
_LINE = Reason("gives one value to all of an item, where others do not")
_SIDE = Reason("chooses the image on one side, where others do not")
_FAR = {
    "label": Reason("agrees with the others by under half of the usual, at every look"),
    "scores": Reason("gives scores that are as far from the others' as by chance"),
    "points": Reason("puts points as far from the others' as by chance"),
    "words": Reason("marks words that agree with the others' as by chance"),
    "all": Reason("gives answers that are as far from the others' as by chance"),
}
Cells = tuple[np.ndarray, np.ndarray]
"""The person, once for each prompt, and how much there is of a sign."""


def careless_people(
    votes: pandas.DataFrame, kind: TaskKind, fastest_seconds: float | None = None
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
    people, of_prompt = len(names), who * _MOST + prompt
    marks = [kind.marks(*row) for row in zip(votes["value"], votes["prompt"], strict=True)]
    marks = [mark or {"label": [label]} for mark, label in zip(marks, votes["label"], strict=True)]
    bets = [
        (reason, _HABITS, _winnings(*_by_prompt(of_prompt[rows], sign), bound, people))
        for reason, rows, sign, bound in _habits(votes, who, kind, marks, fastest_seconds)
    ]
    cells: dict[str, Cells] = {}
    for name in marks[0]:
        lengths = np.array([len(mark[name]) for mark in marks])
        place = np.concatenate([np.arange(length) for length in lengths])
        own, about, cell = (np.repeat(column, lengths) for column in (who, unit, of_prompt))
        about = np.unique(about * lengths.max() + place, return_inverse=True)[1]
        value = np.concatenate([np.asarray(mark[name], float) for mark in marks])
        cells[name] = _apart(own, about, cell, value, kind.level, people)
    if len({len(own) for own, _ in cells.values()}) == 1 < len(cells):  # each has every answer
        cells["all"] = cells["scores"][0], np.mean([far for _, far in cells.values()], axis=0)
    for name, (own, far) in cells.items():
        count = np.bincount(own, minlength=people)
        seen = count >= min(_LEAST_ITEMS, count.max())
        # Where honest people are near to the others each prompt tells, else how far the far ones.
        for least in (0.0, _NEAREST) if len(own) else ():
            sign = np.maximum(far, least)
            usual = np.median((np.bincount(own, sign, people) / np.maximum(count, 1))[seen])
            bound = (1 + min(usual, 1.0)) / 2  # half-way to chance
            bets.append((_FAR[name], 1 - _HABITS, _winnings(own, sign, bound, people, least)))
    if not bets:
        return {}
    won = np.array([own for *_, own in bets])
    share = np.array([share for _, share, _ in bets])
    share /= share.sum() * len(_STAKES)
    together = np.logaddexp.reduce(won + np.log(share)[:, None, None], axis=(0, 1))
    main = won.max(axis=1).argmax(axis=0)
    careless = np.flatnonzero(together >= np.log(1 / ERROR))
    return {names[place]: bets[main[place]][0] for place in careless}


def _winnings(
    who: np.ndarray, sign: np.ndarray, bound: float, people: int, least: float = 0.0
) -> np.ndarray:
    """Return what bets on each person have won: float64 (stakes, people), logarithms.

    Args:
        bound: What the mean of an honest person's signs is at most; none is below `least`.
    """
    beyond = np.log1p(_STAKES / (1 - least / bound) * (sign / bound - 1))
    return np.array([np.bincount(who, bet, people) for bet in beyond])


def _by_prompt(of_prompt: np.ndarray, sign: np.ndarray) -> Cells:
    """Return the mean of each person's votes on a prompt, which may err together."""
    cell, place = np.unique(of_prompt, return_inverse=True)
    return cell // _MOST, np.bincount(place, sign) / np.bincount(place)


def _apart(
    who: np.ndarray, unit: np.ndarray, cell: np.ndarray, value: np.ndarray, level: str, people: int
) -> Cells:
    """Return how far votes are from the others' on the same, over how far they would be by chance.

    It is 1 for who answers at random or always alike. Others count by how little of it is theirs.
    Nothing is returned where too few tell.
    """
    kept = np.bincount(unit)[unit] > 1
    who, unit, of_prompt, value = (column[kept] for column in (who, unit, cell, value))
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
    place, shape = unit * len(values) + code, (unit.max() + 1, len(values))
    counts = np.bincount(who * len(values) + code, minlength=people * len(values))
    own = counts.reshape(people, len(values)) / np.maximum(count, 1)[:, None]
    weight, far = np.ones(people), value
    for _ in range(_ROUNDS):
        given = np.bincount(place, weight[who], shape[0] * shape[1]).reshape(shape)
        others = np.maximum(given.sum(axis=1)[unit] - weight[who], 1e-12)
        pool = np.bincount(code, weight[who])
        by_chance = np.maximum(own @ apart @ pool / pool.sum(), 1e-12)
        far = (given @ apart)[unit, code] / others / by_chance[who]
        mean = np.bincount(who, far, people) / np.maximum(count, 1)
        mean[~seen] = np.median(mean[seen])
        weight = np.maximum(1 - mean, _LEAST_WEIGHT)
    return _by_prompt(of_prompt, far)


def _habits(
    votes: pandas.DataFrame,
    who: np.ndarray,
    kind: TaskKind,
    marks: Sequence[Mapping[str, Sequence[float]]],
    fastest_seconds: float | None,
) -> Iterator[tuple[Reason, np.ndarray, np.ndarray, float]]:
    """Give what is seen without the others' answers: haste, one value for all, one side.

    Each comes with the rows of the votes, one an item, how much of it there is, and the bound.
    """
    said: list[Any] = [mark.get("scores", mark.get("label")) for mark in marks]
    table = votes.assign(who=who, said=said, row=np.arange(len(votes)))
    of_item: Any = table.groupby(["who", "item_id"], sort=False)
    items, values = of_item[["row", "prompt", "spent"]].first(), of_item["said"].sum()
    answers, rows = values.map(len), items["row"].to_numpy()
    fastest: Any = fastest_seconds
    if fastest_seconds is None:
        fastest = items["prompt"].str.split().str.len() * _WORD + answers * _ANSWER
    timed, several = (items["spent"] > 0).to_numpy(), (answers > 1).to_numpy()
    yield _HASTE, rows[timed], (items["spent"] < fastest).to_numpy(float)[timed], _OFTEN
    alike = (values.map(set).map(len) == 1)[several]
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
