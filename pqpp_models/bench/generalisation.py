"""How a predictor does on prompts of another kind than those that it was fitted to.

A predictor of captions is asked about prompt sets with human judgments of other people:
DrawBench's prompts in PQPP (HBPP), GIMBRR's tasks (the share of four models whose image matched
the prompt), and any set with a prompt and a score. What counts is the order, so the coefficient is
Spearman's; with groups (GIMBRR's tasks) also its mean within the groups, which a predictor can't
reach by telling easy tasks from hard ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pqpp_datasets.target_columns import PQPP_TARGETS
from pqpp_files.open_input import names_input
from pqpp_files.read_table import read_table
from pqpp_metrics.functional import qpp_report, spearman_qpp
from pqpp_models.bench.held_out import (
    fitted_among,
    fitted_notes,
    held_out_builds,
    marked,
)
from pqpp_models.bench.split import RELEASES, Split, other_releases
from pqpp_models.errors import PredictorError
from pqpp_models.predictor import Predictor
from pqpp_models.prompts import COLUMN, ID
from pqpp_models.targets import stand_in

if TYPE_CHECKING:
    import datasets


FITTED_NOTE = (
    "Only a predictor that was fitted without a set\nis tested by it; its card says what it was "
    "fitted to."
)
NOTE = (
    "drawbench: every DrawBench prompt of this copy; gimbrr: the share of four models whose image\n"
    "matched, without the tasks called Controlled. " + FITTED_NOTE
)


@dataclass(frozen=True)
class ScoredPrompts:
    """A set of prompts with one human score each.

    Attributes:
        name: What the set is called in tables.
        prompts: The prompts.
        scores: One score a prompt; higher is better, on any scale.
        groups: The group of each prompt, or None.
        data: Where they come from: benchmark, release and split, or a file.
        target: What predictors are asked for; None leaves it to the caller.
        ids: The prompts' ids, or None; they tell rows of one text apart.
    """

    name: str
    prompts: Sequence[str]
    scores: Sequence[float]
    groups: Sequence[str] | None = None
    data: str = ""
    target: str | None = None
    ids: Sequence[str] | None = None

    @property
    def rows(self) -> dict[str, list[Any]]:
        """The prompts as a table, with their ids where they have any."""
        ids = {} if self.ids is None else {ID: list(self.ids)}
        return {COLUMN: list(self.prompts), **ids}


@dataclass(frozen=True)
class GeneralisationResult:
    """A predictor on a set of prompts.

    Attributes:
        predictor: Its name.
        prompts: The name of the set.
        data: Where the set comes from.
        target: The target that the predictor was asked for.
        n: The number of prompts.
        spearman: Spearman's rank correlation over all prompts.
        spearman_ci_low: Lower bound of its 95 % confidence interval.
        spearman_ci_high: Upper bound.
        spearman_within_groups: Its mean over the groups whose scores differ; NaN without groups.
        groups: How many groups entered that mean.
        pearson: Pearson's r.
        kendall: Kendall's tau-b.
        trained_on: The configuration of PQPP that the predictor was trained on, if it is told.
        fitted_on: Its split, like `train + validation`, if that is told.
        fitted_rows: To how many of the n it was fitted, None where it records none.
        ranked: Whether it was fitted to none of them.
        stands_for: The release for which this build was taken, which was fitted to some of them.
    """

    predictor: str
    prompts: str
    data: str
    target: str
    n: int
    spearman: float
    spearman_ci_low: float
    spearman_ci_high: float
    spearman_within_groups: float
    groups: int
    pearson: float
    kendall: float
    trained_on: str | None = None
    fitted_on: str | None = None
    fitted_rows: int | None = 0
    ranked: bool = True
    stands_for: str | None = None


def evaluate_held_out(
    predictors: Mapping[str, Predictor],
    sets: Sequence[ScoredPrompts],
    target: str = "mean_hbpp",
    progress: bool = False,
) -> tuple[list[GeneralisationResult], list[str]]:
    """Do as `evaluate_generalisation`, with the builds of releases that learned some of a set.

    Returns:
        The results, those that are not ranked last in each set; and a line on each build that could
        not be had.
    """
    results, notes = [], []
    _require_measures(predictors, sets, target)
    for one in sets:
        builds = held_out_builds(predictors, one.rows)
        able = {n: p for n, p in builds.predictors.items() if _asked(p, one.target or target)}
        found = evaluate_generalisation(able, [one], target, progress)
        found = [replace(r, stands_for=builds.stands_for.get(r.predictor)) for r in found]
        results += sorted(found, key=lambda result: not result.ranked)
        notes += builds.notes
    return results, list(dict.fromkeys(notes))


def evaluate_generalisation(
    predictors: Mapping[str, Predictor],
    sets: Sequence[ScoredPrompts],
    target: str = "mean_hbpp",
    progress: bool = False,
) -> list[GeneralisationResult]:
    """Correlate each predictor with each set.

    Args:
        predictors: Name to `Predictor`.
        sets: The sets of prompts.
        target: What the predictors are asked for, where a set does not say. One that does not have
            it is asked for another target of the same measure, by `stand_in`.
        progress: Show a progress bar on standard error.

    Returns:
        A result for each set and predictor that has a target of its measure, set by set.

    Raises:
        PredictorError: A predictor has none for any set.

    Example:
        >>> from pqpp_models import Predictor
        >>> words = {"n_words": Predictor.from_pretrained("n_words")}
        >>> mine = ScoredPrompts("mine", ["a cat", "a red cat", "a cat on a mat"], [0.9, 0.8, 0.1])
        >>> round(evaluate_generalisation(words, [mine])[0].spearman, 6)
        -1.0
    """
    from tqdm.auto import tqdm

    _require_measures(predictors, sets, target)
    asked = {
        (place, name): _asked(predictor, one.target or target)
        for place, one in enumerate(sets)
        for name, predictor in predictors.items()
    }
    known = [(key, found) for key, found in asked.items() if found]
    bar = tqdm(known, desc="predicting", unit="set", disable=not progress)
    return [_result(name, predictors[name], sets[at], found) for (at, name), found in bar]


def _require_measures(
    predictors: Mapping[str, Predictor], sets: Sequence[ScoredPrompts], target: str
) -> None:
    wanted = list(dict.fromkeys(one.target or target for one in sets))
    for name, predictor in predictors.items():
        if wanted and not any(_asked(predictor, one) for one in wanted):
            raise PredictorError(
                f"{name} predicts {', '.join(predictor.targets)}, nothing of the measure of "
                f"{', '.join(wanted)}; leave it out, or name other targets"
            )


def _result(name: str, predictor, one: ScoredPrompts, target: str) -> GeneralisationResult:
    asked = None if getattr(predictor, "one_score", False) else (target,)
    predicted = predictor.predict(list(one.prompts), asked)[:, 0]
    known = ~np.isnan(predicted)  # a blank prompt has no prediction
    predicted, scores = predicted[known], np.asarray(one.scores, dtype=float)[known]
    groups = None if one.groups is None else np.asarray(one.groups)[known]
    found = qpp_report(predicted, scores, measures=("spearman", "pearson", "kendall"))
    within = within_groups(predicted, scores, groups)
    fitted = fitted_among(predictor, one.rows)
    fitted_rows = None if fitted is None else int(fitted[known].sum())
    return GeneralisationResult(
        predictor=name,
        prompts=one.name,
        data=one.data,
        target=target,
        n=len(scores),
        spearman=found["spearman_qpp"]["spearman_qpp"],
        spearman_ci_low=found["spearman_qpp"]["ci_low"],
        spearman_ci_high=found["spearman_qpp"]["ci_high"],
        spearman_within_groups=float(np.mean(within)) if within else math.nan,
        groups=len(within),
        pearson=found["pearson_qpp"]["pearson_qpp"],
        kendall=found["kendall_qpp"]["kendall_qpp"],
        trained_on=getattr(predictor, "trained_on", None),
        fitted_on=getattr(predictor, "fitted_on", None),
        fitted_rows=fitted_rows,
        ranked=not fitted_rows,
    )


def _asked(predictor: Any, target: str) -> str | None:
    """Return what a predictor is asked for; one without training stands for any target."""
    if getattr(predictor, "one_score", False):
        return target
    return stand_in(target, getattr(predictor, "targets", (target,)))


def within_groups(
    predicted: NDArray[np.float64], scores: NDArray[np.float64], groups: NDArray[np.str_] | None
) -> list[float]:
    """Return Spearman's coefficient in each group whose scores differ, three prompts at least.

    >>> found = within_groups(np.arange(4.0), np.array([1.0, 2, 3, 9]), np.array(list("aaab")))
    >>> [round(one, 6) for one in found]
    [1.0]
    """
    if groups is None:
        return []
    found = []
    for label in dict.fromkeys(groups.tolist()):
        mine = groups == label
        if mine.sum() < 3 or np.ptp(scores[mine]) == 0:
            continue  # a group with one rate for all orders nothing
        rho = spearman_qpp(predicted[mine], scores[mine])["spearman_qpp"]
        found.append(0.0 if math.isnan(rho) else rho)  # a constant prediction orders nothing
    return found


def gimbrr_match_rates(annotations: Mapping[str, Sequence[Mapping]]) -> ScoredPrompts:
    """Return GIMBRR's prompts with the share of models whose image matched.

    The tasks called `Controlled ...` are left out, as in the paper's overall rates.

    Args:
        annotations: Model to its annotated images, rows of `load_dataset("pqpp",
            "gimbrr-annotations")`; only the first of duplicated annotations counts.

    Returns:
        A set grouped by task, in order of first appearance.
    """
    votes: dict[int, list[bool]] = {}
    about: dict[int, tuple[str, str]] = {}
    for rows in annotations.values():
        seen = set()
        for row in rows:
            if row["task"].startswith("Controlled") or row["prompt_id"] in seen:
                continue
            seen.add(row["prompt_id"])
            votes.setdefault(row["prompt_id"], []).append(row["matched"])
            about[row["prompt_id"]] = (row["prompt"], row["task"])
    rates = [sum(found) / len(found) for found in votes.values()]
    prompts, tasks = zip(*(about[prompt_id] for prompt_id in votes), strict=True)
    return ScoredPrompts("gimbrr", prompts, rates, tasks, "gimbrr-annotations")


def pqpp_sets(
    splits: Mapping[str, datasets.Dataset], split: str, target: str
) -> list[ScoredPrompts]:
    """Return PQPP's captions of one split, and its DrawBench prompts of all that are there.

    Raises:
        PredictorError: There is no such split in this copy, or no such target.
    """

    def scored(name: str, rows: list[dict], where: str) -> ScoredPrompts:
        known = [row for row in rows if row[target] is not None]
        prompts, scores = [row["prompt"] for row in known], [row[target] for row in known]
        data, ids = f"pqpp ({RELEASES['pqpp']}), {where}", [row.get(ID) for row in known]
        return ScoredPrompts(name, prompts, scores, data=data, ids=ids)

    if target not in PQPP_TARGETS:
        raise PredictorError(
            f"--targets {target}: pqpp has no such scores; use one of {', '.join(PQPP_TARGETS)}"
        )
    if split not in splits:
        raise PredictorError(f"--split {split}: this copy of pqpp has {', '.join(splits)}; use one")
    captions = [row for row in splits[split] if row["source"] == "mscoco"]
    drawn = [row for rows in splits.values() for row in rows if row["source"] == "drawbench"]
    sets = [scored(f"mscoco ({split})", captions, f"{split} split")]
    sets.append(scored("drawbench", drawn, f"splits {', '.join(splits)}"))
    return [one for one in sets if len(one.prompts) > 1]


def load_sets(
    data_dir: str | None, split: str, target: str
) -> tuple[list[ScoredPrompts], list[str]]:
    """Return the sets of this project that can be read here, and a line on each that can't."""
    from pqpp_datasets.errors import BenchmarkError
    from pqpp_datasets.load import load_benchmark

    made = {
        "pqpp": lambda rows: pqpp_sets(rows, split, target),
        "gimbrr-annotations": lambda rows: [gimbrr_match_rates(rows)],
    }
    found: list[ScoredPrompts] = []
    left_out = []
    for name, folder in _folders(data_dir, list(made)).items():
        try:
            found += made[name](load_benchmark(name, data_dir=folder))
        except BenchmarkError as error:
            left_out.append(f"without {name}: {error}")
    return found, left_out


def _folders(data_dir: str | None, names: Sequence[str]) -> dict[str, str | None]:
    """Return the configurations to read, each with its folder; None lets the library find it."""
    from pqpp_datasets.benchmarks import BENCHMARKS

    if data_dir is None:
        return dict.fromkeys(names)
    root = Path(data_dir).expanduser()
    below = {name: [root / one for one in BENCHMARKS[name].folders] for name in names}
    inside = {n: data_dir for n, places in below.items() if any(p.is_dir() for p in places)}
    return inside or {"pqpp": data_dir}


def sets_of(split: Split, targets: Sequence[str]) -> list[ScoredPrompts]:
    """Return the prompts of a split with their scores, a set a target; prompts without one go."""
    sources = split.sources
    grouped = sources is not None and len(set(sources)) > 1
    ids = split.rows[ID][:] if ID in split.rows.column_names else None
    sets = []
    for target, values in split.true(targets).items():
        known = [at for at, value in enumerate(values) if value is not None and value == value]
        sets.append(
            ScoredPrompts(
                f"{split.config}: {target}",
                [split.prompts[at] for at in known],
                [values[at] for at in known],
                [sources[at] for at in known] if grouped else None,
                f"{split.config}, {split.name}",
                target,
                ids and [ids[at] for at in known],
            )
        )
    return [one for one in sets if len(one.prompts) > 1]


def read_set(text: str, split: str | None = None) -> ScoredPrompts:
    """Read DATA:COLUMN, a table or a dataset with the prompts in `prompt` and a score.

    Raises:
        PredictorError: There is no column in the text, or the dataset has no such one of numbers.
        FileError: The file cannot be read, or the column holds no numbers.
        BenchmarkError: The dataset cannot be loaded.
    """
    path, colon, column = text.rpartition(":")
    if not colon or not path:
        raise PredictorError(f"--scores {text}: FILE:COLUMN is needed, the column of the scores")
    if not names_input(path) and (Path(path).is_dir() or not Path(path).suffix):
        from pqpp_datasets.load import load_benchmark

        rows = load_benchmark(path, split=split)
        data = Split.of(rows, Path(path).name)
        (found,) = sets_of(data, data.targets(column))
        return found
    table = read_table(path, ["prompt", column])
    pairs = zip(table.texts("prompt"), table.numbers(column), strict=True)
    known = [pair for pair in pairs if not math.isnan(pair[1])]
    prompts, scores = [prompt for prompt, _ in known], [score for _, score in known]
    return ScoredPrompts(Path(path).stem, prompts, scores, data=f"{Path(path).name}:{column}")


def format_generalisation(style: str, results: Sequence[GeneralisationResult]) -> str:
    """Return the results as `table`, `markdown`, `latex`, `csv` or `json`.

    Args:
        style: One of the five.
        results: What `evaluate_generalisation` returned.
    """
    import pandas as pd

    notes = [f"{name}: {data}, n = {n}" for name, data, n in _sets(results)]
    of_pqpp = {one.predictor: one.trained_on for one in results if one.data.startswith("pqpp (")}
    notes += other_releases(of_pqpp, "pqpp")
    notes += fitted_notes(results)
    frame = pd.DataFrame([vars(result) for result in results])
    if style == "csv":
        return frame.to_csv(index=False)
    if style == "json":
        return '{"rows": ' + frame.to_json(orient="records", indent=1) + "}"
    figures = ["Spearman", "95 % interval", "within groups", "Kendall"]
    header = ["prompts", "predictor", "asked for", "n", *figures]
    rows = [_row(result) for result in results]
    if style == "latex":
        table = pd.DataFrame(rows, columns=header)
        comments = "".join(f"% {note}\n" for note in notes)
        return comments + table.to_latex(index=False, escape=True)
    from tabulate import tabulate

    from pqpp_files.visible import markdown_cell, visible

    look, shown = ("github", markdown_cell) if style == "markdown" else ("simple", visible)
    table = tabulate([list(map(shown, row)) for row in rows], header, look, disable_numparse=True)
    ours = any(result.data.startswith(("pqpp (", "gimbrr")) for result in results)
    return "\n".join([table, "", *notes, NOTE if ours else FITTED_NOTE])


def _sets(results: Sequence[GeneralisationResult]) -> list[tuple[str, str, int]]:
    """Return each set's name, where it comes from, and its size."""
    return list(dict.fromkeys((one.prompts, one.data, one.n) for one in results))


def _row(result: GeneralisationResult) -> list[str]:
    within = "–"
    if result.groups:
        within = f"{result.spearman_within_groups:.3f} ({result.groups} groups)"
    interval = f"{result.spearman_ci_low:.3f} to {result.spearman_ci_high:.3f}"
    values = (f"{result.spearman:.3f}", interval, within, f"{result.kendall:.3f}")
    name = marked(result.predictor, result.fitted_rows)
    return [result.prompts, name, result.target, str(result.n), *values]
