"""Compare scores with people's choices between two images, and rank generators for roles."""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pqpp_feedback.assess.agreement import resample_means
from pqpp_feedback.assess.pictures import Row
from pqpp_feedback.errors import FeedbackError
from pqpp_feedback.vistar.score import ANGLES
from pqpp_feedback.vistar.scores import get_score_class, list_scores
from pqpp_files.errors import reraise
from pqpp_files.extras import require_extra
from pqpp_files.figures import ResultTable
from pqpp_files.foreign.json_values import parse_json, read_json
from pqpp_files.foreign.yaml_values import read_yaml
from pqpp_files.paths import expand
from pqpp_files.read_table import read_table
from pqpp_metrics.functional.agreement import pairwise_accuracy
from pqpp_metrics.tables import as_text

_CHOICES = {"a": 1, "b": -1, "tie": 0}
_AGREEMENT_COLUMNS = (
    *("score", "angle", "accuracy", "ties half", "pairs", "equal scores"),
    *("no preference", "published"),
)


@cache
def read_published() -> Row:
    """Return the results in the paper's tables 2 and 3.

    Example:
        >>> read_published()["core"]["SDXL"]
        76.4
    """
    return read_json(Path(__file__).with_name("published.json"))


def read_image_scores(path: str | Path) -> list[dict[str, Any]]:
    r"""Read image scores from a table of `pqpp assess`, or one with columns `image` and `score`.

    Optional columns: `routine` or `assessor` (the score's name), `angle`, `generator` or `model`,
    and `prompt_id` (if it is empty, the image is the only one of its prompt).

    Raises:
        FileError: The file cannot be read or a column is missing.
        FeedbackError: No row has a score.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "scores.csv"
        >>> _ = path.write_text("image,score\na.png,0.5\n")
        >>> [(row["image"], row["score"]) for row in read_image_scores(path)]
        [('a.png', 0.5)]
    """
    table = read_table(path, remedy="each row needs `image` and `score`")
    empty = [None] * len(table)

    def get_column(*names: str) -> Sequence[Any]:
        return next((table[name] for name in names if name in table), empty)

    classes = [get_score_class(name) for name in list_scores()]
    angles_by_score = {f"vistar-{c.section}": c.angle for c in classes if not c.angles}
    score_angles = map(angles_by_score.get, get_column("assessor"))
    with reraise(f"{path}: `inputs` is no JSON object", "write the table again", FeedbackError):
        prompt_angles = [parse_json(text or "{}").get("angle") for text in get_column("inputs")]
    angles = zip(get_column("angle"), score_angles, prompt_angles, strict=True)
    ids = zip(map(as_text, get_column("prompt_id")), table.texts("image"), strict=True)
    cells = {
        "image": table.texts("image"),
        "score": [None if np.isnan(score) else score for score in table.numbers("score")],
        "name": [str(name or "score") for name in get_column("routine", "assessor", "metric")],
        "angle": [next(filter(None, ways), None) for ways in angles],
        "generator": get_column("generator", "model"),
        "prompt_id": [prompt_id or image for prompt_id, image in ids],
    }
    rows = [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]
    if not any(row["score"] is not None for row in rows):
        raise FeedbackError(f"{path}: no row has a score; choose a table with scores of images")
    return rows


def read_choices(path: str | Path) -> list[dict[str, Any]]:
    r"""Read people's choices: `image_a`, `image_b` and `choice` (a, b or tie), optionally `angle`.

    `pqpp annotate export` writes preferences in this format; its control items are left out.

    Raises:
        FileError: The file cannot be read or a column is missing.
        FeedbackError: A choice is not a, b or tie.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "choices.csv"
        >>> _ = path.write_text("image_a,image_b,choice\na.png,b.png,b\n")
        >>> read_choices(path)[0]["preferred"]
        -1
    """
    table = read_table(path, remedy="each row needs `image_a`, `image_b` and `choice`")
    pairs = zip(table.texts("image_a"), table.texts("image_b"), strict=True)
    empty = [None] * len(table)
    angles, controls = (table.columns.get(name, empty) for name in ("angle", "control"))
    choices = []
    for row, (images, choice) in enumerate(zip(pairs, table.texts("choice"), strict=True)):
        if str(controls[row]).lower() == "true":
            continue
        preferred = _CHOICES.get(choice.strip().lower())
        if preferred is None:
            location = table.locate(row)
            raise FeedbackError(f"{location}: `choice` must be a, b or tie; got {choice!r:.40}")
        choices.append({"images": images, "preferred": preferred, "angle": angles[row]})
    return choices


def score_preferences(rows: Iterable[Row], chosen: Sequence[Row]) -> list[dict[str, Any]]:
    """Return how often each score prefers the image that people prefer.

    A choice with an angle counts only for the scores of that angle.

    Args:
        rows: The output of `read_image_scores`.
        chosen: The output of `read_choices`.

    Returns:
        list: One dict per score: `score`; `angle`; `accuracy` with Wilson's 95% interval, where
        equal scores count as wrong, as in the paper; `ties half`, the accuracy where equal scores
        count as half correct; `pairs`, the number of pairs with a human preference; `equal scores`,
        the number of these pairs with equal scores; `no preference`, the number of pairs without a
        human preference; `published`, the paper's accuracy.

    Example:
        >>> scores = ("x", 0), ("y", 1)
        >>> rows = [{"image": i, "name": "s", "angle": None, "score": n} for i, n in scores]
        >>> chosen = [{"images": ("x", "y"), "preferred": -1, "angle": None}]
        >>> score_preferences(rows, chosen)[0]["pairs"]
        1
    """
    scores: dict[tuple[str, str], dict[str, float]] = {}
    for row in rows:
        if row["score"] is not None:
            scores.setdefault((row["name"], row["angle"] or ""), {})[row["image"]] = row["score"]
    lines = []
    for (name, angle), scored in sorted(scores.items()):
        pairs = [
            choice
            for choice in chosen
            if scored.keys() >= set(choice["images"]) and angle in ("", choice["angle"] or angle)
        ]
        values = [[scored[image] for image in choice["images"]] for choice in pairs]
        accuracy = _get_accuracy(values, [choice["preferred"] for choice in pairs])
        published = read_published()["pairwise_accuracy"].get(angle)
        lines.append({"score": name, "angle": angle, **accuracy, "published": published})
    return lines


def _get_accuracy(values: Sequence[Sequence[float]], preferred: Sequence[int]) -> dict[str, Any]:
    if not values:
        return {"pairs": 0, "equal scores": 0, "no preference": 0}
    result = pairwise_accuracy(values, preferred)
    names = {"pairs": "n", "equal scores": "n_score_ties", "no preference": "n_ties"}
    counts = {column: result[name] for column, name in names.items()}
    if not result["n"]:
        return counts
    accuracy = tuple(result[name] for name in ("pairwise_accuracy", "ci_low", "ci_high"))
    ties_half = pairwise_accuracy(values, preferred, score_ties="half").statistic
    return {"accuracy": accuracy, "ties half": ties_half, **counts}


def bench_vistar(
    verdicts: Sequence[str | Path],
    people: str | Path | None = None,
    roles: str | Path | None = None,
) -> tuple[list[ResultTable], list[str]]:
    r"""Return tables of agreement with people and of rankings by role, and notes on them.

    Raises:
        FeedbackError: A file is invalid, or there is nothing to compare.

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
    rows = [row for path in verdicts for row in read_image_scores(path)]
    tables, notes = [], []
    if people:
        lines = score_preferences(rows, read_choices(people))
        if not any(line["pairs"] for line in lines):
            problem = f"no pair of images with a preference in {people} has scores"
            raise FeedbackError(f"{problem}; use the same image names in all tables")
        title = "Pairs for which the score and people prefer the same image"
        tables.append(ResultTable("agreement", title, _AGREEMENT_COLUMNS, lines))
        notes.append(f"published: {read_published()['source']}, which requires 75%")
    ranked = [row for row in rows if row["generator"] and row["angle"] in ANGLES]
    if len({row["generator"] for row in ranked}) > 1:
        for role, weights in read_roles(roles).items():
            lines = rank_by_role(ranked, weights)
            columns = ("rank", "generator", "score")
            tables.append(ResultTable(role, f"For the role {role}", columns, lines))
            used = ", ".join(lines[0]["angles"]) if lines else "none that all generators have"
            notes.append(f"{role}: angles {used}")
    if not tables:
        remedy = "add scores of another generator for the same angles, or set `people`"
        raise FeedbackError(f"there is nothing to compare; {remedy}")
    return tables, notes


Weights = Mapping[str, float]
ROLES_FILE = Path(__file__).with_name("roles.yaml")


def read_roles(path: str | Path | None = None) -> dict[str, dict[str, float]]:
    """Read the weight of each angle for each role.

    Args:
        path: YAML file that maps each role to weights by angle; None for the package's own file.

    Raises:
        FeedbackError: The file cannot be read, an angle is unknown, a weight is negative or not a
            number, or a role has no positive weight.

    Example:
        >>> sorted(read_roles())
        ['graphic_designer', 'marketing_specialist', 'storyboard_artist']
    """
    file = expand(path) if path else ROLES_FILE
    remedy = "; write one line per role, such as `designer: {TR: 1, LI: 0.5}`"
    with require_extra("roles", "assess"):
        roles = read_yaml(file, remedy, FeedbackError)
    return {str(r): _parse_weights(f"{file}: role {r}", weights) for r, weights in roles.items()}


def _parse_weights(where: str, weights: Any) -> dict[str, float]:
    if not isinstance(weights, dict) or not set(weights) <= set(ANGLES):
        raise FeedbackError(f"{where} must map angles ({', '.join(ANGLES)}) to weights")
    is_valid = all(type(weight) in (int, float) and weight >= 0 for weight in weights.values())
    if not is_valid or not 0 < sum(weights.values()) < math.inf:
        requirement = "must have finite weights of 0 or more, at least one of them above 0"
        raise FeedbackError(f"{where} {requirement}; got {list(weights.values())}")
    return {angle: float(weight) for angle, weight in weights.items()}


def rank_by_role(
    rows: Iterable[Row], weights: Weights, resamples: int = 10_000
) -> list[dict[str, Any]]:
    """Rank generators by the weighted mean of their angle scores.

    An angle's score is the mean over its prompts. An angle is left out if a generator has no scores
    for it; the other weights are scaled to sum to 1.

    Args:
        rows: Rows with `generator`, `prompt_id`, `angle` and `score`; rows without a score are
            skipped.
        weights: The weight of each angle by name, 0 or more.
        resamples: Number of bootstrap samples of the prompts.

    Returns:
        list: One dict per generator, best first: `rank`, `generator`, `score` with its 95% interval
        and the `angles` used. The list is empty if no angle has scores for all generators.

    Example:
        >>> rows = [{"generator": g, "prompt_id": p, "angle": "TR", "score": s + p / 100}
        ...         for g, s in (("a", 0.2), ("b", 0.6)) for p in range(9)]
        >>> [(row["rank"], row["generator"]) for row in rank_by_role(rows, {"TR": 1}, 200)]
        [(1, 'b'), (2, 'a')]
    """
    used = [row for row in rows if row["score"] is not None and weights.get(row["angle"], 0) > 0]
    frame = pd.DataFrame(used, columns=["angle", "generator", "prompt_id", "score"])
    frame = frame.astype({"generator": str, "prompt_id": str, "score": float})
    prompt_means = frame.pivot_table("score", ["generator", "prompt_id"], "angle")
    generators = prompt_means.index.unique("generator").tolist()
    columns = {angle: prompt_means[angle].unstack() for angle in ANGLES if angle in prompt_means}
    tables = {a: t.to_numpy() for a, t in columns.items() if t.notna().any(axis=1).all()}
    if not tables:
        return []
    total = sum(weights[angle] for angle in tables)
    shares = {angle: weights[angle] / total for angle in tables}
    means = sum(shares[angle] * np.nanmean(table, axis=1) for angle, table in tables.items())
    samples = np.zeros((resamples, len(generators)))
    for angle, table in tables.items():
        sums, counts = np.nan_to_num(table).T, ~np.isnan(table).T
        samples += shares[angle] * resample_means(sums, counts, resamples, 0)
    order = sorted(range(len(generators)), key=lambda n: (-means[n], generators[n]))
    scores = np.vstack([means, np.nanquantile(samples, (0.025, 0.975), axis=0)]).T.tolist()
    return [
        {"rank": rank, "generator": generators[n], "score": tuple(scores[n]), "angles": [*tables]}
        for rank, n in enumerate(order, 1)
    ]
