"""Measure how well an assessor's verdicts, and rankings by these verdicts, agree with people."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pqpp_feedback.assess.pictures import Row
from pqpp_feedback.assess.verdicts import ANSWERS
from pqpp_feedback.errors import FeedbackError
from pqpp_files.figures import ResultTable
from pqpp_files.read_table import read_table
from pqpp_metrics.functional.agreement import cohen_kappa
from pqpp_metrics.functional.correlation import kendall_qpp
from pqpp_metrics.functional.match_rate import match_rate
from pqpp_metrics.functional.prediction_powered import judgments_needed, prediction_powered_mean
from pqpp_metrics.tables import as_text

_ANSWER_COLUMNS = ("matched", "label", "verdict")


class HumanAnswers(dict[tuple[str, ...], bool]):
    """People's answers by image key: `(image,)` or `(prompt_id, generator)`."""

    def find(self, row: Row) -> bool | None:
        """Return people's answer for a row's image; None if there is none.

        Example:
            >>> row = {"image": "a.png", "prompt_id": 7, "generator": "sdxl"}
            >>> HumanAnswers({("7", "sdxl"): True}).find(row)
            True
        """
        by_prompt = (as_text(row["prompt_id"]), as_text(row["generator"]))
        return self.get((as_text(row["image"]),), self.get(by_prompt))


def read_human_answers(path: str | Path) -> HumanAnswers:
    r"""Read people's answers from a table.

    The answer is in `matched`, `label` or `verdict`, as true or false, yes or no, 1 or 0; empty
    cells are ignored. The image is identified by `image`, or by `prompt_id` and `model` (or
    `generator`). The majority of an image's answers decides; images with a tie between answers are
    left out.

    Raises:
        FeedbackError: An answer has another value or no image, or no image has a majority answer.
        FileError: The table cannot be read or lacks these columns.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "answers.csv"
        >>> _ = path.write_text("image,matched\na.png,yes\n")
        >>> read_human_answers(path).find({"image": "a.png", "prompt_id": "", "generator": ""})
        True
    """
    table = read_table(path)
    column = next((name for name in _ANSWER_COLUMNS if name in table), _ANSWER_COLUMNS[0])
    generator = "generator" if "generator" in table else "model"
    columns = ["image"] if "image" in table else ["prompt_id", generator]
    votes: dict[tuple[str, ...], list[bool]] = {}
    keys = zip(*(table[name] for name in columns), strict=True)
    for row, (key, cell) in enumerate(zip(keys, table[column], strict=True)):
        answer = str("" if cell is None else cell).strip().lower().removesuffix(".0")
        if not answer:
            continue
        if answer not in ANSWERS:
            raise FeedbackError(f"{table.locate(row)}: expected true or false; got {cell!r:.40}")
        names = tuple(map(as_text, key))
        if not names[0]:
            raise FeedbackError(f"{table.locate(row)}: no {columns[0]}; fill in the cell")
        votes.setdefault(names, []).append(ANSWERS[answer])
    means = {key: sum(values) / len(values) for key, values in votes.items()}
    answers = {key: mean > 0.5 for key, mean in means.items() if mean != 0.5}
    if not answers:
        raise FeedbackError(f"{path}: no image has a majority answer; add answers to {column!r}")
    return HumanAnswers(answers)


FIGURES = ("n", "people", "automated", "bias", "accuracy", "kappa", "f1_true", "f1_false")


def compute_agreement(verdicts: Sequence[bool], people: Sequence[bool]) -> dict[str, Any]:
    """Return measures of how well verdicts agree with people's answers on the same images.

    Args:
        verdicts: The assessor's verdicts, (images,).
        people: People's answers, (images,).

    Returns:
        `n`; `people` and `automated`, each with a rate of positive answers and both ends of its 95%
        Wilson interval; `bias`, the automated rate minus people's; `accuracy`; Cohen's `kappa`; and
        `f1_true` and `f1_false`, the F1 of each class, 0 for a class that never occurs.

    Example:
        >>> figures = compute_agreement([True, True, False, False], [True, False, False, False])
        >>> [figures[name] for name in ("accuracy", "kappa", "bias", "f1_true")]
        [0.75, 0.5, 0.25, 0.6666666666666666]
    """
    automated, true = np.asarray(verdicts, dtype=bool), np.asarray(people, dtype=bool)
    figures: dict[str, Any] = {"n": int(automated.size)}
    for name, values in (("people", true), ("automated", automated)):
        rate = match_rate(values)
        figures[name] = rate["match_rate"], rate["ci_low"], rate["ci_high"]
    return figures | {
        "bias": figures["automated"][0] - figures["people"][0],
        "accuracy": float((automated == true).mean()),
        "kappa": cohen_kappa(automated, true).statistic,
        "f1_true": _compute_f1(automated, true),
        "f1_false": _compute_f1(~automated, ~true),
    }


def group_agreement(rows: Iterable[Mapping[str, Any]], by: Sequence[str]) -> list[dict[str, Any]]:
    """Return the agreement of each group of rows, in order of appearance.

    Args:
        rows: Rows with `verdict` (the assessor's) and `people` (people's answer).
        by: The columns to group by; they come first in the result.

    Example:
        >>> rows = [{"task": "Counting", "verdict": True, "people": True}]
        >>> [(row["task"], row["n"], row["accuracy"]) for row in group_agreement(rows, ["task"])]
        [('Counting', 1, 1.0)]
    """
    groups: dict[tuple[Any, ...], list[tuple[bool, bool]]] = {}
    for row in rows:
        pair = row["verdict"], row["people"]
        groups.setdefault(tuple(row[name] for name in by), []).append(pair)
    figures = {key: compute_agreement(*zip(*pairs, strict=True)) for key, pairs in groups.items()}
    return [dict(zip(by, key, strict=True)) | values for key, values in figures.items()]


def _compute_f1(automated: NDArray[np.bool_], true: NDArray[np.bool_]) -> float:
    total = int(automated.sum() + true.sum())
    return 2 * int((automated & true).sum()) / total if total else 0.0


def compare_rankings(
    verdicts: Sequence[bool],
    people: Sequence[bool],
    models: Sequence[str],
    prompts: Sequence[Any],
    resamples: int = 2000,
    seed: int = 0,
) -> dict[str, Any]:
    """Compare the rankings of models by automated verdicts and by people's answers.

    Prompts are resampled, each with all its images.

    Args:
        verdicts: The assessor's verdicts, (images,).
        people: People's answers, (images,).
        models: The generator of each image.
        prompts: The prompt of each image.

    Returns:
        `by_people` and `by_automation`, dicts from model to rate, highest first; `same_order` and
        `same_first`, the shares of bootstrap samples in which the two rankings, or their first
        models, are equal; and `pairs`: for each pair of models, the difference of rates by people
        and by automation with 95% intervals, and whether both intervals exclude 0 on the same side
        (`survives`).

    Example:
        >>> found = compare_rankings([1, 0, 1, 0], [1, 0, 1, 0], ["a", "b", "a", "b"], [1, 1, 2, 2])
        >>> list(found["by_people"]), found["same_order"]
        (['a', 'b'], 1.0)
    """
    columns, names = pd.Series(models, dtype=object).factorize()
    rows, prompt_ids = pd.Series(prompts, dtype=object).factorize()
    shape = (len(prompt_ids), len(names))
    sums, counts = np.zeros((*shape, 2)), np.zeros((*shape, 1))
    np.add.at(counts, (rows, columns), 1)
    np.add.at(sums, (rows, columns), np.array([people, verdicts], dtype=float).T)
    rates = np.moveaxis(resample_means(sums, counts, resamples, seed), 2, 0)
    means = (sums.sum(axis=0) / counts.sum(axis=0)).T
    orders = np.argsort(-rates, axis=2, kind="stable")
    by_people, by_automation = (
        dict(sorted(zip(names, side.tolist(), strict=True), key=lambda pair: (-pair[1], pair[0])))
        for side in means
    )
    return {
        "by_people": by_people,
        "by_automation": by_automation,
        "same_order": float((orders[0] == orders[1]).all(axis=1).mean()),
        "same_first": float((orders[0, :, 0] == orders[1, :, 0]).mean()),
        "pairs": _compare_pairs(list(names), means, rates),
    }


def resample_means(
    sums: NDArray[np.float64], counts: NDArray[Any], resamples: int, seed: int
) -> NDArray[np.float64]:
    """Return bootstrap means of models, resampling prompts with all their images.

    Args:
        sums: Sum of the values of each prompt's images by model, (prompts, models, ...).
        counts: Number of each prompt's images by model, a shape that broadcasts to that of `sums`.
        seed: The seed; the same seed draws the same prompts.

    Returns:
        Means of shape (resamples, models, ...); NaN if a sample has no image of a model.

    Example:
        >>> resample_means(np.array([[1.0], [1.0]]), np.array([[1], [1]]), 2, 0).tolist()
        [[1.0], [1.0]]
    """
    random, prompts, chunks = np.random.default_rng(seed), len(sums), []
    for start in range(0, resamples, 500):  # all draws at once may not fit into memory
        size = min(500, resamples - start)
        weights = random.multinomial(prompts, np.full(prompts, 1 / prompts), size).astype(float)
        with np.errstate(invalid="ignore"):
            chunks.append(np.tensordot(weights, sums, 1) / np.tensordot(weights, counts, 1))
    return np.concatenate(chunks)


def _compare_pairs(
    names: Sequence[str], means: NDArray[np.float64], rates: NDArray[np.float64]
) -> list[dict[str, Any]]:
    pairs = []
    for better, worse in itertools.combinations(np.argsort(-means[0], kind="stable"), 2):
        row: dict[str, Any] = {"better": names[better], "worse": names[worse]}
        for side, name in enumerate(("people", "automated")):
            differences = rates[side, :, better] - rates[side, :, worse]
            difference = means[side, better] - means[side, worse]
            row[name] = (float(difference), *np.nanquantile(differences, (0.025, 0.975)).tolist())
        row["survives"] = row["people"][1] > 0 and row["automated"][1] > 0
        pairs.append(row)
    return pairs


def describe_agreement(stats: Mapping[str, Any]) -> str:
    """Describe an agreement in one line.

    Example:
        >>> describe_agreement(compute_agreement([True, False], [True, False]))
        'agreement with people: accuracy 1.000, kappa 1.000, F1 1.000 / 1.000, bias +0.000 (n = 2)'
    """
    return (
        f"agreement with people: accuracy {stats['accuracy']:.3f}, kappa {stats['kappa']:.3f}, "
        f"F1 {stats['f1_true']:.3f} / {stats['f1_false']:.3f}, bias {stats['bias']:+.3f} "
        f"(n = {stats['n']})"
    )


# The minimum number of images with a human answer for an interval; pqpp's choice.
MIN_ANSWERS = 20

HOW_TO_READ = (
    "rank: Kendall's tau-b of scores and answers.",
    "people: the mean answer and its 95% interval from the rated images alone; powered: the same "
    "with the scores of all other images (prediction-powered inference), valid for any bias of the "
    "scores if the rated images are a random sample; worth: the number of rated images that "
    "alone would give as narrow an interval; needed: the number of rated images for an interval "
    "of +-.05, with and without the scores.",
)


def compare_with_people(
    rows: Iterable[Row], people: HumanAnswers
) -> tuple[list[ResultTable], list[str]]:
    """Measure how well each routine's verdicts and scores agree with people's answers.

    Args:
        rows: Verdicts on images.
        people: People's answers for some of the images.

    Returns:
        Tables of the agreement by task and by model, a table of how many human ratings the scores
        replace, and notes that explain the columns.

    Raises:
        FeedbackError: People rated no image that has a verdict or a score.

    Example:
        >>> about = {"prompt_id": "", "task": "t", "generator": "g", "routine": None}
        >>> rows = [{**about, "image": str(n), "verdict": n > 4, "score": n / 9} for n in range(10)]
        >>> people = HumanAnswers({(str(n),): n > 4 for n in range(8)})
        >>> tables, _ = compare_with_people(rows, people)
        >>> tables[0].rows[0]["accuracy"], tables[0].rows[0]["n"]
        (1.0, 8)
    """
    by_routine: dict[str, list[Row]] = {}
    for row in rows:
        score = row["verdict"] if row["score"] is None else row["score"]
        if score is not None:
            answered = {**row, "score": float(score), "people": people.find(row)}
            by_routine.setdefault(row["routine"] or "score", []).append(answered)
    rated = {n: [r for r in group if r["people"] is not None] for n, group in by_routine.items()}
    if not any(rated.values()):
        raise FeedbackError("no image with a score or verdict has a human answer; check the names")
    tables = []
    for column in ("task", "generator"):
        lines = []
        for name, routine_rows in rated.items():
            for value in (None, *sorted({row[column] for row in routine_rows if row[column]})):
                matching = [row for row in routine_rows if value in (None, row[column])]
                lines.append({"routine": name, column: value or "all", **_summarise(matching)})
        title = f"Agreement by {column}"
        columns = ["routine", column, *FIGURES, "rank"]
        tables.append(ResultTable(f"agreement_by_{column}", title, columns, lines))
    measurable = [name for name, group in rated.items() if len(group) >= MIN_ANSWERS]
    savings = [{"routine": name, **_measure_savings(by_routine[name])} for name in measurable]
    if measurable:
        tables.append(ResultTable("saved", "Ratings that scores save", list(savings[0]), savings))
    notes = list(HOW_TO_READ if measurable else HOW_TO_READ[:1])
    if left_out := sorted(set(rated) - set(measurable)):
        notes.append(f"{', '.join(left_out)}: fewer than {MIN_ANSWERS} images with an answer")
    return tables, notes


def _summarise(rated: Sequence[Row]) -> dict[str, Any]:
    """Return the agreement of verdicts, if there are any, and the rank correlation of scores."""
    pairs = [(row["verdict"], row["people"]) for row in rated if row["verdict"] is not None]
    figures = compute_agreement(*zip(*pairs, strict=True)) if pairs else {"n": len(rated)}
    scores, answers = (np.array([row[n] for row in rated], float) for n in ("score", "people"))
    tau = kendall_qpp(scores, answers)["kendall_qpp"] if len(set(answers)) > 1 else np.nan
    rank = tau if np.isfinite(tau) else None
    return {name: figures.get(name) for name in FIGURES} | {"rank": rank}


def _measure_savings(rows: Sequence[Row]) -> dict[str, Any]:
    """Return people's mean answer, estimated with and without the scores of unrated images."""
    scores, answers = (np.array([row[n] for row in rows], float) for n in ("score", "people"))
    is_judged = np.isfinite(answers)
    true, predicted, unrated = answers[is_judged], scores[is_judged], scores[~is_judged]
    # If people have judged all images, the scores add nothing.
    others, weight = (unrated, None) if len(unrated) else (predicted, 0.0)
    estimate = prediction_powered_mean(true, predicted, others, weight=weight)
    rho = float(np.corrcoef(true, predicted)[0, 1]) if true.std() * predicted.std() else 0.0
    needed = [judgments_needed(0.05, float(true.std()), r, len(rows)) for r in (rho, 0.0)]
    return {
        "images": len(rows),
        "judged": len(true),
        "automated": float(scores.mean()),
        "people": tuple(estimate[f"judged_{name}"] for name in ("mean", "ci_low", "ci_high")),
        "powered": tuple(estimate[name] for name in ("mean", "ci_low", "ci_high")),
        "worth": round(estimate["worth"]) if np.isfinite(estimate["worth"]) else None,
        "needed": needed[0],
        "without": needed[1],
    }
