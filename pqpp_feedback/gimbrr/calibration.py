"""Fitting the calibrated routine to half of people's answers, and measuring it on the other half.

Prompts, not images, are parted in halves, by the hash of the prompt's id: images of one prompt are
alike. For each task, and for all tasks with the same kinds of conditions together, are fitted: the
template of names and the score from which on a box counts (by the likelihood), the weights of the
margins and the bias (logistic regression, weights not negative), and the probability from which on
an image matches (by Cohen's kappa).
"""

import itertools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_feedback.assess.agreement import agreement_by_group
from pqpp_feedback.assess.assessor import random_for
from pqpp_feedback.assess.people import PeopleSay, with_people
from pqpp_feedback.assess.pictures import Row
from pqpp_feedback.assess.verdicts import picture_of
from pqpp_feedback.errors import AssessError
from pqpp_feedback.gimbrr.conditions import Conditions, asked_of, conditions_of
from pqpp_feedback.gimbrr.routines.calibrated import Calibrated, kinds_word
from pqpp_feedback.gimbrr.seen import TEMPLATES, Seen, margins_of
from pqpp_files.errors import FileError
from pqpp_files.foreign.json_values import parse_json, value_parser
from pqpp_files.open_input import Input
from pqpp_metrics.functional.agreement import cohen_kappa

FORMAT = 1
LEAST = 20
"""Images that a task must have in the half that is fitted to; with fewer it is not fitted."""
BOX_THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
_PENALTY = 1e-3
_FITTED = {"template", "box_threshold", "weights", "bias", "threshold", "n"}

Case = tuple[Seen, Conditions, str, str, bool]
"""What was seen, what must hold, the image's id, the task, and what people say."""


def calibrate(rows: Sequence[Row], people: PeopleSay) -> dict[str, Any]:
    """Fit the routine.

    Args:
        rows: Verdicts of any of GIMBRR's routines, with evidence.
        people: What people say of the images.

    Returns:
        What `write_calibration` writes: `tasks`, what was fitted; `models`, role to name and
        revision; and `agreement`, by task, measured on the half that was not fitted to.

    Raises:
        AssessError: The rows come of several models, or too few of them have an answer.

    Example:
        >>> about = {"representations": ["cat"], "task_specific_label": "1"}
        >>> row = {"task": "Counting", "asked": json.dumps(about), "prompt": "a cat"}
        >>> row |= {"generator": "m", "model": "{}", "revision": "{}"}
        >>> def judged(n):
        ...     boxes = [{"label": "cat", "score": 0.9}] * (n % 3)
        ...     evidence = {"detector": {"labels": {"cat": "cat"}, "boxes": boxes}}
        ...     own = {"image": f"{n}.png", "prompt_id": str(n), "evidence": json.dumps(evidence)}
        ...     return {**row, **own}
        >>> people = PeopleSay({(f"{n}.png",): n % 3 == 1 for n in range(90)})
        >>> found = calibrate([judged(n) for n in range(90)], people)
        >>> found["agreement"][0]["task"], found["agreement"][0]["accuracy"]
        ('Counting', 1.0)
    """
    known, answers = with_people((row for row in rows if row["evidence"]), people)
    models = {(row["model"], row["revision"]) for row in known}
    if len(models) > 1:
        raise AssessError("the evidence is of several models; calibrate each by itself")
    halves: tuple[list[Case], list[Case]] = ([], [])
    for row, answer in zip(known, answers, strict=True):
        picture = picture_of(row)
        asked = asked_of(picture.about)
        conditions = conditions_of(asked)
        seen = Seen(parse_json(row["evidence"]))
        if isinstance(conditions, str) or seen.lacking(conditions):
            continue
        half = int(random_for(row["prompt_id"], "half").integers(2))
        halves[half].append((seen, conditions, picture.image_id, asked.task, answer))
    tasks = _fitted_tasks(halves[0])
    if not tasks:
        raise AssessError(
            f"{len(halves[0])} images with an answer of people are in the half that is fitted to, "
            f"{LEAST} of a task are the fewest; collect more answers"
        )
    ((name, revision),) = models
    return {
        "format": FORMAT,
        "models": {"model": parse_json(name), "revision": parse_json(revision)},
        "tasks": tasks,
        "agreement": _measured(tasks, halves[1]),
    }


def write_calibration(calibration: Row) -> str:
    """Return a calibration as JSON.

    Example:
        >>> print(write_calibration({"format": 1, "tasks": {}}), end="")
        {
         "format": 1,
         "tasks": {}
        }
    """
    return json.dumps(calibration, indent=1, sort_keys=True) + "\n"


def read_fitted(path: str | Path) -> dict[str, Any]:
    """Read what `write_calibration` wrote.

    Raises:
        AssessError: It is no calibration of this format.
        FileError: The file cannot be read.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "fitted.json"
        >>> _ = path.write_text(write_calibration({"format": FORMAT, "models": {}, "tasks": {}}))
        >>> read_fitted(path)["tasks"]
        {}
    """
    fitted = value_parser(refuse_constants=True)(Input(path).read(), str(path), 1)
    tasks = fitted.get("tasks") if isinstance(fitted, dict) else None
    is_whole = isinstance(tasks, dict) and all(
        isinstance(task, dict) and set(task) >= _FITTED for task in tasks.values()
    )
    if not is_whole or fitted.get("format") != FORMAT:
        raise FileError(
            f"{path}: no calibration of format {FORMAT}; make one by pqpp assess gimbrr "
            "--evidence FILE --people FILE --fit-calibration FILE"
        )
    return fitted


def check_models(calibration: Row, models: Mapping[str, str]) -> None:
    """Refuse evidence of other models than those that a calibration was fitted to.

    Args:
        calibration: The calibration.
        models: Role to name.

    Raises:
        AssessError: A model is another one.

    Example:
        >>> check_models({"models": {"model": {"clip": "a"}}}, {"clip": "b"})
        Traceback (most recent call last):
        pqpp_feedback.errors.AssessError: the calibration is of clip a, the ...
    """
    for role, name in calibration["models"]["model"].items():
        if models.get(role, name) != name:
            raise AssessError(
                f"the calibration is of {role} {name}, the evidence of {models[role]}; calibrate "
                "again with answers of people on this evidence"
            )


def _fitted_tasks(cases: Sequence[Case]) -> dict[str, dict[str, Any]]:
    groups: dict[str, list[Case]] = {}
    for case in cases:
        for key in (case[3], kinds_word(case[1])):
            groups.setdefault(key, []).append(case)
    return {key: _fit(some) for key, some in sorted(groups.items()) if len(some) >= LEAST}


def _fit(cases: Sequence[Case]) -> dict[str, Any]:
    answers = np.array([case[4] for case in cases])
    kinds = sorted({condition.kind for case in cases for condition in case[1]})
    templates = TEMPLATES if set(kinds) - {"counts"} else ["photo"]
    thresholds = BOX_THRESHOLDS if "counts" in kinds else (0.5,)
    fits = []
    for template, box_threshold in itertools.product(templates, thresholds):
        by_case = [margins_of(*case[:2], template, box_threshold) for case in cases]
        margins = np.array([[case[kind][0] for kind in kinds] for case in by_case])
        loss, weights, bias = _logistic(margins, answers)
        fits.append((loss, template, box_threshold, weights, bias, margins @ weights + bias))
    _, template, box_threshold, weights, bias, logits = min(fits, key=lambda fit: fit[0])
    return {
        "template": template,
        "box_threshold": box_threshold,
        "weights": dict(zip(kinds, weights.tolist(), strict=True)),
        "bias": bias,
        "n": len(cases),
        "threshold": _threshold(1 / (1 + np.exp(-logits)), answers),
    }


def _logistic(
    margins: NDArray[np.float64], answers: NDArray[np.bool_]
) -> tuple[float, NDArray[np.float64], float]:
    """Return the penalised loss, weights that are not negative, and the bias."""
    from scipy.optimize import minimize

    signs = np.where(answers, 1.0, -1.0)

    def loss(x: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        z = signs * (margins @ x[:-1] + x[-1])
        slope = -signs / (1 + np.exp(np.clip(z, -500, 500))) / len(z)
        penalty = _PENALTY * x
        gradient = np.append(margins.T @ slope, slope.sum()) + penalty
        return float(np.logaddexp(0, -z).mean() + (penalty @ x) / 2), gradient

    columns = margins.shape[1]
    start = np.zeros(columns + 1)
    bounds = [(0, None)] * columns + [(None, None)]
    fit = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds)
    return float(fit.fun), fit.x[:-1], float(fit.x[-1])


def _threshold(likely: NDArray[np.float64], answers: NDArray[np.bool_]) -> float:
    """Return the probability from which on kappa is highest; of equal ones that nearest to .5."""
    if answers.all() or not answers.any():
        return 0.5
    values = np.unique(likely)
    middles = (values[1:] + values[:-1]) / 2
    kappas = {cut: float(cohen_kappa(likely >= cut, answers)) for cut in (0.5, *middles)}
    return float(max(kappas, key=lambda cut: (round(kappas[cut], 12), -abs(cut - 0.5))))


def _measured(tasks: Row, cases: Sequence[Case]) -> list[dict[str, Any]]:
    routine = Calibrated(tasks)
    judged = [(case[3], routine.judge(*case[:4]).verdict, case[4]) for case in cases]
    known = [(task, verdict, answer) for task, verdict, answer in judged if verdict is not None]
    everything = [("all", verdict, answer) for _, verdict, answer in known]
    groups = agreement_by_group([*known, *everything])
    return [{"task": task, **figures} for task, figures in groups.items()]
