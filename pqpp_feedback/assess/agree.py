"""How far an assessor may stand in for people: agreement, calibration, and the votes it saves."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_feedback.assess.agreement import FIGURES, agreement
from pqpp_feedback.assess.assessor import random_for
from pqpp_feedback.assess.people import PeopleSay, with_people
from pqpp_feedback.assess.pictures import Row
from pqpp_feedback.errors import AssessError
from pqpp_files.figures import Figures
from pqpp_metrics.functional.correlation import kendall_qpp
from pqpp_metrics.functional.prediction_powered import judgments_needed, prediction_powered_mean

# Images with an answer of people that a calibration or an interval needs; ours to choose.
FEWEST = 20
FOLDS = 5

HOW_TO_READ = (
    "rank is Kendall's tau-b of scores and answers. brier is the mean squared error of scores as "
    "probabilities, calibrated after an isotonic fit to the prompts of other folds.",
    "people: the mean answer and its interval of 95 % from the judged images alone; powered: the "
    "same from these and the scores of all others (prediction-powered inference), right whatever "
    "the scores' bias if the judged images are a random sample; worth: judged images alone that "
    "would have as narrow an interval; needed: judged images for +-.05, with the scores and "
    "without.",
)


def agree(rows: Iterable[Row], people: PeopleSay) -> tuple[list[Figures], list[str]]:
    """Return tables of how well each routine's verdicts and scores agree with people.

    Args:
        rows: Verdicts on images, of which people have answered some.
        people: Their answers.

    Returns:
        Tables of agreement by task and by model, of calibration, and of what the scores save; and
        notes that say what the columns are.

    Raises:
        AssessError: People have answered on no image with a verdict or a score.

    Example:
        >>> about = {"prompt_id": "", "task": "t", "generator": "g", "routine": "r"}
        >>> rows = [{**about, "image": str(n), "verdict": n > 4, "score": n / 9} for n in range(10)]
        >>> tables, _ = agree(rows, PeopleSay({(str(n),): n > 4 for n in range(8)}))
        >>> tables[0].rows[0]["accuracy"], tables[0].rows[0]["n"]
        (1.0, 8)
    """
    by_routine: dict[str, list[Row]] = {}
    for row in rows:
        if _score_of(row) is not None:
            by_routine.setdefault(row["routine"], []).append(row)
    judged = {name: with_people(some, people) for name, some in by_routine.items()}
    if not any(answers for _, answers in judged.values()):
        raise AssessError("people have answered on no image that has a verdict or a score")
    tables = [_agreement_by(column, judged) for column in ("task", "generator")]
    enough = [name for name, (_, answers) in judged.items() if len(answers) >= FEWEST]
    calibrated = [{"routine": name, **_calibration(*judged[name])} for name in enough]
    saved = [{"routine": name, **_saved(by_routine[name], people)} for name in enough]
    if enough:
        columns = ["routine", "n", "brier", "calibrated"]
        tables.append(Figures("calibration", "Scores as probabilities", columns, calibrated))
        tables.append(Figures("saved", "Votes that scores save", list(saved[0]), saved))
    left_out = sorted(set(judged) - set(enough))
    fewer = f"{', '.join(left_out)}: fewer than {FEWEST} images with an answer"
    return tables, [*HOW_TO_READ, *([fewer] if left_out else [])]


def _score_of(row: Row) -> float | None:
    value = row["score"] if row["score"] is not None else row["verdict"]
    return None if value is None else float(value)


def _agreement_by(column: str, judged: Mapping[str, tuple[list[Row], list[bool]]]) -> Figures:
    lines = []
    for name, (rows, answers) in judged.items():
        groups: dict[str, list[tuple[Row, bool]]] = {}
        for pair in zip(rows, answers, strict=True):
            groups.setdefault("all", []).append(pair)
            if pair[0][column]:
                groups.setdefault(pair[0][column], []).append(pair)
        for group in sorted(groups, key=lambda group: (group != "all", group)):
            lines.append({"routine": name, column: group, **_figures(groups[group])})
    columns = ["routine", column, *FIGURES, "rank"]
    return Figures(f"agreement_by_{column}", f"Agreement by {column}", columns, lines)


def _figures(judged: Sequence[tuple[Row, bool]]) -> dict[str, Any]:
    """Return the figures of verdicts where there are some, and the rank correlation of scores."""
    pairs = [(row["verdict"], said) for row, said in judged if row["verdict"] is not None]
    figures = agreement(*zip(*pairs, strict=True)) if pairs else {"n": len(judged)}
    scores, answers = zip(*((_score_of(row), said) for row, said in judged), strict=True)
    tau = kendall_qpp(scores, np.array(answers, float)) if len(set(answers)) > 1 else None
    rank = None if tau is None or not np.isfinite(tau["kendall_qpp"]) else tau["kendall_qpp"]
    return {name: figures.get(name) for name in FIGURES} | {"rank": rank}


def _calibration(rows: Sequence[Row], answers: Sequence[bool]) -> dict[str, Any]:
    """Return the Brier score before and after an isotonic fit to the prompts of other folds."""
    scores = np.array([_score_of(row) for row in rows])
    truth = np.array(answers, dtype=float)
    fold = np.array([random_for(row["prompt_id"], "fold").integers(FOLDS) for row in rows])
    fitted = np.full(len(truth), truth.mean())
    for number in range(FOLDS):
        inside = fold == number
        if inside.any() and not inside.all():
            fitted[inside] = isotonic(scores[~inside], truth[~inside], scores[inside])
    raw = np.clip(scores, 0, 1)
    brier, calibrated = (float(((said - truth) ** 2).mean()) for said in (raw, fitted))
    return {"n": len(truth), "brier": brier, "calibrated": calibrated}


def isotonic(
    scores: NDArray[np.floating], truth: NDArray[np.floating], others: NDArray[np.floating]
) -> NDArray[np.float64]:
    """Return the probabilities of other scores by the rising step function that fits best.

    Equal scores share one probability; between scores that were fitted to it goes straight.

    Example:
        >>> isotonic(np.array([1, 2, 3.0]), np.array([0, 1, 0.0]), np.array([0, 2.5])).tolist()
        [0.0, 0.5]
    """
    from scipy.optimize import isotonic_regression

    values, places, counts = np.unique(scores, return_inverse=True, return_counts=True)
    means = np.bincount(places, truth) / counts
    return np.interp(others, values, isotonic_regression(means, weights=counts).x)


def _saved(rows: Sequence[Row], people: PeopleSay) -> dict[str, Any]:
    """Return the mean of people's answers with and without the scores of unjudged images."""
    said = map(people.of, rows)
    answers = np.array([np.nan if answer is None else float(answer) for answer in said])
    scores, is_judged = np.array([_score_of(row) for row in rows]), np.isfinite(answers)
    truth, own, others = answers[is_judged], scores[is_judged], scores[~is_judged]
    # Where people have judged all, no score adds anything.
    estimate = prediction_powered_mean(
        truth, own, *((others,) if len(others) else (own, 0.95, 0.0))
    )
    rho = float(np.corrcoef(truth, own)[0, 1]) if truth.std() * own.std() else 0.0
    needed = [judgments_needed(0.05, float(truth.std()), r, len(rows)) for r in (rho, 0.0)]
    return {
        "images": len(rows),
        "judged": len(truth),
        "automated": float(scores.mean()),
        "people": tuple(estimate[f"judged_{name}"] for name in ("mean", "ci_low", "ci_high")),
        "powered": tuple(estimate[name] for name in ("mean", "ci_low", "ci_high")),
        "worth": round(estimate["worth"]) if np.isfinite(estimate["worth"]) else None,
        "needed": needed[0],
        "without": needed[1],
    }
