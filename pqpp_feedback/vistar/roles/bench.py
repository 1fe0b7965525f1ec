"""Scores beside people's choices between two images, and generators ranked for roles."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from pqpp_feedback.assess.errors import AssessError
from pqpp_feedback.assess.tables import Figures
from pqpp_feedback.assess.verdicts import read_verdicts
from pqpp_feedback.vistar.roles.ranking import read_roles, role_ranking, separation
from pqpp_feedback.vistar.score import ANGLES
from pqpp_files.read_table import read_table
from pqpp_metrics.functional.match_rate import match_rate
from pqpp_metrics.functional.pairwise import pairwise_accuracy

_CHOICES = {"a": 1, "b": -1, "tie": 0}
_ANGLE_OF = {
    "after-vistar-text_rendering": "TR",
    "after-vistar-light": "LI",
    "after-vistar-composed_scene": "CSE",
    "after-vistar-characters": "CPA",
    "after-vistar-geometry": "GC",
}
_BAR = 0.75


@cache
def figures_of_the_paper() -> Mapping[str, Any]:
    """Return the paper's figures of tables 2 and 3.

    Example:
        >>> figures_of_the_paper()["core"]["SDXL"]
        76.4
    """
    return json.loads(Path(__file__).with_name("published.json").read_text("utf-8"))


def read_scores(path: str | Path) -> list[dict[str, Any]]:
    r"""Read scores of images: a table of `pqpp assess`, or any with `image` and `score`.

    Columns that are used where they are there: `routine` or `assessor`, the score's name; `angle`;
    `generator` or `model`; `prompt_id`.

    Raises:
        FileError: The file cannot be read or lacks a column.
        AssessError: No row has a score.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "scores.csv"
        >>> _ = path.write_text("image,score\na.png,0.5\n")
        >>> [(row["image"], row["score"]) for row in read_scores(path)]
        [('a.png', 0.5)]
    """
    if str(path).endswith(".parquet"):
        try:
            rows = [_of_verdict(row) for row in read_verdicts(path)]
        except AssessError:
            rows = _of_table(path)
    else:
        rows = _of_table(path)
    if not any(row["score"] is not None for row in rows):
        raise AssessError(f"{path}: no row has a score; name a table with scores of images")
    return rows


def _of_verdict(row: Mapping[str, Any]) -> dict[str, Any]:
    asked = json.loads(row["asked"] or "{}")
    angle = _ANGLE_OF.get(row["routine"]) or asked.get("angle")
    if row["routine"].startswith("after-vistar-penetration"):
        angle = "PSC"
    known = {name: row[name] for name in ("image", "prompt_id", "generator", "score")}
    return {**known, "name": row["routine"], "angle": angle}


def _of_table(path: str | Path) -> list[dict[str, Any]]:
    table = read_table(path, remedy="each row needs `image` and `score`")
    images, cells = table.texts("image"), table["score"]
    known = [cell for cell in cells if cell not in (None, "")]
    numbers = iter(_numbers(table, known, cells))
    scores = [None if cell in (None, "") else next(numbers) for cell in cells]

    def column(*names: str) -> Sequence[Any]:
        return next((table[name] for name in names if name in table), [None] * len(images))

    names, angles = column("routine", "assessor", "metric"), column("angle")
    generators, prompts = column("generator", "model"), column("prompt_id")
    return [
        {
            **{"image": image, "score": score, "name": str(name or "score")},
            **{"angle": angle, "generator": generator, "prompt_id": prompt},
        }
        for image, score, name, angle, generator, prompt in zip(
            images, scores, names, angles, generators, prompts, strict=True
        )
    ]


def _numbers(table: Any, known: Sequence[Any], cells: Sequence[Any]) -> list[float]:
    found = []
    for cell in known:
        try:
            number = float(cell)
        except (TypeError, ValueError):
            number = float("nan")
        if not np.isfinite(number):
            place = table.place_of(list(cells).index(cell))
            raise AssessError(f"{place}: score is {cell!r:.40}; a number is needed, or nothing")
        found.append(number)
    return found


def read_choices(path: str | Path) -> list[dict[str, Any]]:
    r"""Read people's choices: `image_a`, `image_b` and `choice` (a, b or tie), and `angle` if told.

    It is the form that `pqpp annotate export` writes for preferences; its control items, whose
    answer was known before, are left out.

    Raises:
        FileError: The file cannot be read or lacks a column.
        AssessError: A choice is none of the three.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "choices.csv"
        >>> _ = path.write_text("image_a,image_b,choice\na.png,b.png,b\n")
        >>> read_choices(path)[0]["preferred"]
        -1
    """
    table = read_table(path, remedy="each row needs `image_a`, `image_b` and `choice`")
    first, second, said = (table.texts(name) for name in ("image_a", "image_b", "choice"))
    nothing = [None] * len(first)
    angles, controls = (table.columns.get(name, nothing) for name in ("angle", "control"))
    found = []
    for row, (one, other, choice, angle) in enumerate(
        zip(first, second, said, angles, strict=True)
    ):
        if str(controls[row]).lower() == "true":
            continue
        if choice.strip().lower() not in _CHOICES:
            raise AssessError(f"{table.place_of(row)}: choice is {choice!r:.40}; write a, b or tie")
        preferred = _CHOICES[choice.strip().lower()]
        found.append({"images": (one, other), "preferred": preferred, "angle": angle})
    return found


def preference_agreement(
    rows: Iterable[Mapping[str, Any]], chosen: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return how often each score prefers the image that people prefer.

    Choices that name an angle count for scores of that angle alone.

    Args:
        rows: As `read_scores` gives them.
        chosen: As `read_choices` gives them.

    Returns:
        list: A score each: `score`, `angle`, `accuracy` with Wilson's 95 % interval, equal scores
        counted as wrong as in the paper; `ties half`, where they count half; `pairs`, those with a
        preference; `equal scores` among them; `no preference`, left out; `published`.

    Example:
        >>> scores = ("x", 0), ("y", 1)
        >>> rows = [{"image": i, "name": "s", "angle": None, "score": n} for i, n in scores]
        >>> chosen = [{"images": ("x", "y"), "preferred": -1, "angle": None}]
        >>> preference_agreement(rows, chosen)[0]["pairs"]
        1
    """
    scores: dict[tuple[str, str], dict[str, float]] = {}
    for row in rows:
        if row["score"] is not None:
            key = row["name"], row["angle"] or ""
            scores.setdefault(key, {})[row["image"]] = row["score"]
    found = []
    for (name, angle), own in sorted(scores.items()):
        pairs = [
            one
            for one in chosen
            if all(image in own for image in one["images"])
            and not (one["angle"] and angle and one["angle"] != angle)
        ]
        values = [[own[image] for image in one["images"]] for one in pairs]
        line = {"score": name, "angle": angle, **_accuracy(values, pairs)}
        line["published"] = figures_of_the_paper()["pairwise_accuracy"].get(angle)
        found.append(line)
    return found


def _accuracy(values: Sequence[Sequence[float]], pairs: Sequence[Mapping]) -> dict[str, Any]:
    if not pairs:
        return {"pairs": 0, "equal scores": 0, "no preference": 0}
    preferred = [one["preferred"] for one in pairs]
    strict, half = (
        pairwise_accuracy(values, preferred, score_ties=ties) for ties in ("wrong", "half")
    )
    counts = {
        "pairs": strict["n"],
        "equal scores": strict["n_score_ties"],
        "no preference": strict["n_ties"],
    }
    if not strict["n"]:
        return counts
    right = round(strict["pairwise_accuracy"] * strict["n"])
    told = match_rate([1] * right + [0] * (int(strict["n"]) - right))
    rate = tuple(told[name] for name in ("match_rate", "ci_low", "ci_high"))
    return {"accuracy": rate, "ties half": half["pairwise_accuracy"], **counts}


def bench_vistar(
    verdicts: Sequence[str | Path],
    people: str | Path | None = None,
    roles: str | Path | None = None,
) -> tuple[list[Figures], list[str]]:
    r"""Return tables of agreement with people and of roles, with notes.

    Raises:
        AssessError: A file is not as it must be, or there is nothing to compare.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> scores, choices = folder / "scores.csv", folder / "choices.csv"
        >>> _ = scores.write_text("image,score\na.png,0.5\nb.png,0.2\n")
        >>> _ = choices.write_text("image_a,image_b,choice\na.png,b.png,a\n")
        >>> tables, _ = bench_vistar([scores], choices)
        >>> tables[0].rows[0]["accuracy"][0]
        1.0
    """
    rows = [row for path in verdicts for row in read_scores(path)]
    tables, notes = [], []
    if people:
        columns: tuple[str, ...]
        columns = ("score", "angle", "accuracy", "ties half", "pairs", "equal scores")
        lines = preference_agreement(rows, read_choices(people))
        if not any(line["pairs"] for line in lines):
            raise AssessError(
                f"{people}: no pair of images with a preference has scores in {verdicts[0]}; check "
                "that both call images alike"
            )
        columns = (*columns, "no preference", "published")
        tables.append(
            Figures("agreement", "Pairs where the score prefers as people", columns, lines)
        )
        notes.append(f"published: {figures_of_the_paper()['source']}; its bar is {_BAR:.0%}")
    ranked = [row for row in rows if row["generator"] and row["angle"] in ANGLES]
    if len({row["generator"] for row in ranked}) > 1:
        for role, weights in read_roles(roles).items():
            lines = role_ranking(ranked, weights)
            for line in lines:
                line["score"] = (line["score"], line.pop("ci_low"), line.pop("ci_high"))
            columns = ("rank", "generator", "score")
            tables.append(Figures(role, f"For the role {role}", columns, lines))
            used = ", ".join(lines[0]["angles"]) if lines else "none that all generators have"
            notes.append(f"{role}: angles {used}; {separation(lines)}")
    if not tables:
        raise AssessError(
            "nothing to compare: give --people FILE with choices, or scores of several generators "
            "by angle"
        )
    return tables, notes
