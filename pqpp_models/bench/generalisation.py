"""How a predictor does on prompts of another kind than those that it was fitted to.

A predictor of captions is asked about prompt sets with human judgments of other people:
DrawBench's prompts in PQPP (HBPP), GIMBRR's tasks (the share of four models whose image matched
the prompt), and any set with a prompt and a score. What counts is the order, so the coefficient is
Spearman's; with groups (GIMBRR's tasks) also its mean within the groups, which a predictor can't
reach by telling easy tasks from hard ones.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pqpp_datasets.errors import BenchmarkError
from pqpp_datasets.load import load_benchmark
from pqpp_datasets.target_columns import PQPP_TARGETS, is_target, measure_of
from pqpp_files.figures import Figures, figures_text
from pqpp_files.open_input import names_input
from pqpp_files.read_table import read_table
from pqpp_metrics.functional import qpp_report
from pqpp_models.bench.run import load_predictors, open_split, with_some_of
from pqpp_models.bench.split import RELEASES, Split, fitted_among, held_out_builds, other_releases
from pqpp_models.bench.tables import fitted_notes, marked
from pqpp_models.errors import PredictorError
from pqpp_models.predictor import Predictor
from pqpp_models.prompts import ID
from pqpp_models.scored_prompts import ScoredPrompts, gimbrr_match_rates, within_groups
from pqpp_models.targets import resolve_targets, stand_in

FITTED_NOTE = (
    "Only a predictor that was fitted without a set is tested by it; its card says what it was "
    "fitted to."
)
OF_PQPP = (
    "drawbench: every DrawBench prompt of this copy; gimbrr: the share of four models whose image "
    "matched, without the tasks called Controlled."
)


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


def generalise(
    dataset: str = "pqpp",
    subset: str | None = None,
    split: str | None = "validation",
    data_dir: str | None = None,
    predictors: Sequence[str] | None = None,
    targets: Sequence[str] | None = None,
    scores: Sequence[str] = (),
    progress: bool = False,
) -> tuple[list[GeneralisationResult], list[str]]:
    """Compare predictors on prompts of another kind.

    Args:
        dataset: As for `open_split`, which `subset`, `split` and `data_dir` are of too; pqpp stands
            for its DrawBench prompts and GIMBRR's too.
        predictors: Names, groups, folders or repositories; the default ones if None.
        targets: What is compared; of pqpp one, HBPP if None.
        scores: Further sets, DATA:COLUMN each.

    Returns:
        The results of each set, and a line on each predictor, build or set that was left out.

    Raises:
        BenchmarkError: There is no such dataset.
        PredictorError: A predictor, target or set cannot be used, or there is no set.
    """
    is_ours = dataset == "pqpp" and subset in (None, "pqpp")
    chosen, notes = load_predictors(predictors)
    for name, predictor in chosen.items():
        if predictor.inputs != "text":
            raise PredictorError(f"{name} needs {predictor.inputs}, these sets have prompts only")
    own = [read_set(text, split) for text in scores]
    if is_ours:
        names = resolve_targets(targets or "mean_hbpp")
        if len(names) != 1:
            raise PredictorError(f"`targets`: {len(names)} given, this table needs one")
        sets, left_out = load_sets(data_dir, split or "", names[0])
        notes += left_out
    else:
        rows = open_split(dataset, subset, split, data_dir)
        predicted = [target for model in chosen.values() for target in model.targets]
        names = rows.targets(targets, predicted)
        sets = sets_of(rows, names)
    found = [*sets, *own]
    notes += [f"{one.name} is left out: it has one prompt" for one in found if len(one.prompts) < 2]
    sets = [one for one in found if len(one.prompts) > 1]
    if not sets:
        raise PredictorError(
            "no set of prompts could be read, see the notes; name a folder by `data_dir`, or a "
            "file by `scores` FILE:COLUMN"
        )
    if predictors is None:
        chosen, left_out = with_some_of(chosen, [set_.target or names[0] for set_ in sets])
        notes += left_out
    results, left_out = evaluate_generalisation(chosen, sets, names[0], progress)
    return results, [*notes, *left_out]


def evaluate_generalisation(
    predictors: Mapping[str, Predictor],
    sets: Sequence[ScoredPrompts],
    target: str = "mean_hbpp",
    progress: bool = False,
) -> tuple[list[GeneralisationResult], list[str]]:
    """Correlate each predictor with each set, by the builds of those that learned some of it.

    Args:
        predictors: Name to `Predictor`.
        sets: The sets of prompts.
        target: What the predictors are asked for, where a set does not say. One that does not have
            it is asked for what stands in, by `stand_in`; where nothing does for what a set says,
            for this target, if both are of one task.
        progress: Show a progress bar on standard error.

    Returns:
        A result for each set and predictor that has a target of its measure, set by set, those that
        are not ranked last in each; and a line on each build that could not be had.

    Raises:
        PredictorError: A predictor has none for any set.

    Example:
        >>> from pqpp_models import Predictor
        >>> words = {"n_words": Predictor.from_pretrained("n_words")}
        >>> mine = ScoredPrompts("mine", ["a cat", "a red cat", "a cat on a mat"], [0.9, 0.8, 0.1])
        >>> (result,), notes = evaluate_generalisation(words, [mine])
        >>> round(result.spearman, 6)
        -1.0
    """
    from tqdm.auto import tqdm

    results, notes = [], []
    for name, predictor in predictors.items():
        if sets and not any(_asked(predictor, set_, target) for set_ in sets):
            wanted = dict.fromkeys(set_.target or target for set_ in sets)
            raise PredictorError(
                f"{name} predicts {', '.join(predictor.targets)}, nothing of the measure of "
                f"{', '.join(wanted)}; leave it out, or name other targets"
            )
    for scored in tqdm(sets, desc="predicting", unit="set", disable=not progress):
        builds = held_out_builds(predictors, scored.rows)
        of_set = []
        for name, predictor in builds.predictors.items():
            if asked := _asked(predictor, scored, target):
                of_set.append(_result(name, predictor, scored, asked, builds.stands_for.get(name)))
            else:
                has = ", ".join(predictor.targets)
                notes.append(f"without {name} on {scored.name}: it predicts {has} only")
        results += sorted(of_set, key=lambda result: not result.ranked)
        notes += builds.notes
    return results, list(dict.fromkeys(notes))


def _result(
    name: str, predictor: Predictor, scored: ScoredPrompts, target: str, stands_for: str | None
) -> GeneralisationResult:
    predicted = predictor.predict(scored.prompts, None if predictor.one_score else target)[:, 0]
    known = ~np.isnan(predicted)  # a blank prompt has no prediction
    predicted, scores = predicted[known], np.asarray(scored.scores, dtype=float)[known]
    groups = None if scored.groups is None else np.asarray(scored.groups)[known]
    measures = ("spearman", "pearson", "kendall")
    report = qpp_report(predicted, scores, measures=measures)
    within = within_groups(predicted, scores, groups)
    fitted = fitted_among(predictor, scored.rows)
    fitted_rows = None if fitted is None else int(fitted[known].sum())
    return GeneralisationResult(
        predictor=name,
        prompts=scored.name,
        data=scored.data,
        target=target,
        n=len(scores),
        **{name: report[f"{name}_qpp"][f"{name}_qpp"] for name in measures},
        spearman_ci_low=report["spearman_qpp"]["ci_low"],
        spearman_ci_high=report["spearman_qpp"]["ci_high"],
        spearman_within_groups=float(np.mean(within)) if within else math.nan,
        groups=len(within),
        trained_on=predictor.trained_on,
        fitted_on=predictor.fitted_on,
        fitted_rows=fitted_rows,
        ranked=not fitted_rows,
        stands_for=stands_for,
    )


def _asked(predictor: Predictor, scored: ScoredPrompts, target: str) -> str | None:
    """Return what a predictor is asked for; one without training stands for any target."""
    wanted = scored.target or target
    if predictor.one_score:
        return wanted
    if own := stand_in(wanted, predictor.targets):
        return own
    measures = measure_of(wanted), measure_of(target)
    is_alike = all(measures) and len({measure.task for measure in measures if measure}) == 1
    return stand_in(target, predictor.targets) if is_alike else None


def format_generalisation(style: str, results: Sequence[GeneralisationResult]) -> str:
    """Return the results as `table`, `markdown`, `latex`, `csv` or `json`.

    Args:
        style: One of the five.
        results: What `evaluate_generalisation` returned.
    """
    sets = dict.fromkeys((row.prompts, row.data, row.n) for row in results)
    notes = [f"{name}: {data}, n = {n}" for name, data, n in sets]
    of_pqpp = {row.predictor: row.trained_on for row in results if row.data.startswith("pqpp (")}
    notes += other_releases(of_pqpp, "pqpp")
    notes += fitted_notes(results)
    frame = pd.DataFrame([vars(result) for result in results])
    if style == "csv":
        return frame.to_csv(index=False)
    if style == "json":
        return '{"rows": ' + frame.to_json(orient="records", indent=1) + "}"
    if any(result.data.startswith(("pqpp (", "gimbrr")) for result in results):
        notes.append(OF_PQPP)
    rows = [
        {
            "prompts": row.prompts,
            "predictor": marked(row.predictor, row.fitted_rows),
            "asked for": row.target,
            "n": row.n,
            "Spearman": (row.spearman, row.spearman_ci_low, row.spearman_ci_high),
            "within groups": f"{row.spearman_within_groups:.3f} ({row.groups} groups)"
            if row.groups
            else "–",
            "Kendall": row.kendall,
        }
        for row in results
    ]
    names = ["prompts", "predictor", "asked for", "n", "Spearman", "within groups", "Kendall"]
    table = Figures("generalisation", "On prompts of another kind", names, rows)
    return figures_text(style, [table], [*notes, FITTED_NOTE])


def pqpp_sets(splits: Mapping[str, Any], split: str, target: str) -> list[ScoredPrompts]:
    """Return PQPP's captions of one split, and its DrawBench prompts of all that are there.

    Raises:
        PredictorError: There is no such split in this copy, or no such target.
    """
    if target not in PQPP_TARGETS:
        raise PredictorError(
            f"`targets` {target}: pqpp has no such scores; use one of {', '.join(PQPP_TARGETS)}"
        )
    if split not in splits:
        raise PredictorError(f"`split` {split}: this copy of pqpp has {', '.join(splits)}; use one")
    captions = [row for row in splits[split] if row["source"] == "mscoco"]
    drawn = [row for rows in splits.values() for row in rows if row["source"] == "drawbench"]
    data = f"pqpp ({RELEASES['pqpp']}), "
    return [
        _scored(f"mscoco ({split})", captions, target, f"{data}{split} split"),
        _scored("drawbench", drawn, target, f"{data}splits {', '.join(splits)}"),
    ]


def _scored(
    name: str,
    rows: Iterable[Mapping[str, Any]],
    column: str,
    data: str,
    target: str | None = None,
    group: str | None = None,
) -> ScoredPrompts:
    """Return the rows that have a score as a set."""
    known = [row for row in rows if row[column] is not None and not math.isnan(row[column])]
    prompts, scores = [row["prompt"] for row in known], [row[column] for row in known]
    groups = [row[group] for row in known] if group else None
    return ScoredPrompts(name, prompts, scores, groups, data, target, [r.get(ID) for r in known])


def load_sets(
    data_dir: str | None, split: str, target: str
) -> tuple[list[ScoredPrompts], list[str]]:
    """Return the sets of this project that can be read here, and a line on each that can't."""
    sets, left_out = [], []
    for name in ("pqpp", "gimbrr-annotations"):
        try:
            rows = load_benchmark(name, data_dir=data_dir)
        except BenchmarkError as error:
            left_out.append(f"without {name}: {error}")
            continue
        is_pqpp = name == "pqpp"
        sets += pqpp_sets(rows, split, target) if is_pqpp else [gimbrr_match_rates(rows)]
    return sets, left_out


def sets_of(split: Split, targets: Sequence[str]) -> list[ScoredPrompts]:
    """Return the prompts of a split with their scores, a set a target; prompts without one go."""
    columns = {"prompt", ID, "source", *targets}.intersection(split.rows.column_names)
    rows = split.rows.select_columns(list(columns)).to_list()
    group = "source" if len(set(split.sources or ())) > 1 else None
    data = f"{split.config}, {split.name}"
    return [_scored(f"{split.config}: {one}", rows, one, data, one, group) for one in targets]


def read_set(text: str, split: str | None = None) -> ScoredPrompts:
    """Read DATA:COLUMN, a table or a dataset with the prompts in `prompt` and a score.

    Raises:
        PredictorError: There is no column in the text, or the dataset has no such one of numbers.
        FileError: The file cannot be read, or the column holds no numbers.
        BenchmarkError: The dataset cannot be loaded.
    """
    path, colon, column = text.rpartition(":")
    if not colon or not path:
        raise PredictorError(f"`scores` {text}: expected FILE:COLUMN, the column of the scores")
    if not names_input(path) and (Path(path).is_dir() or not Path(path).suffix):
        data = Split.of(load_benchmark(path, split=split), Path(path).name)
        return sets_of(data, data.targets(column))[0]
    table = read_table(path)
    pairs = zip(table.texts("prompt"), table.numbers(column), strict=True)
    rows = [{"prompt": prompt, column: score} for prompt, score in pairs]
    target = column if is_target(column) else None
    return _scored(Path(path).stem, rows, column, f"{Path(path).name}:{column}", target)
