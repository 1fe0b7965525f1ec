"""A benchmark's leaderboard: the results in models' repositories, as a table and a page.

A result on the Hub has one value, Kendall's tau-b; its notes contain the other figures as text.
`make_entries` writes these notes, and `parse_result` parses them.
"""

from __future__ import annotations

import datetime
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pqpp_hub
from pqpp_backbones.checkpoint import CONFIG
from pqpp_files.atomic_write import write_file
from pqpp_files.errors import PqppError
from pqpp_files.paths import expand
from pqpp_hub import PushReport, is_repository_id
from pqpp_hub.card import render_card
from pqpp_hub.eval_results import (
    BenchmarkTask,
    ListedResult,
    get_commit,
    get_results_path,
    load_tasks,
    make_entry,
    pull_results,
    read_results,
    render_results,
)
from pqpp_models.bench import protocol
from pqpp_models.bench.lookup import load_any_predictor
from pqpp_models.bench.report import render_report
from pqpp_models.bench.run import BenchRun, bench_split, load_predictors, open_split
from pqpp_models.bench.split import ALL_ROWS
from pqpp_models.bench.tables import get_interval
from pqpp_models.errors import PredictorError
from pqpp_models.registry import PREDICTORS

if TYPE_CHECKING:
    from huggingface_hub import EvalResultEntry

# The notes of `make_entries`; other notes are ignored.
_NUMBER = r"(-?\d\.\d{1,9})"
_FIGURE = f"_qpp {_NUMBER}(?: \\[{_NUMBER}, {_NUMBER}\\])?"
_COUNT = re.compile(r"\bn (\d{1,12})\b")


def make_entries(
    run: BenchRun, dataset: str, revision: str | None = None
) -> tuple[dict[str, list[EvalResultEntry]], list[str]]:
    """Return the leaderboard entries of each predictor, and notes on results that are left out.

    Undefined results, and results on rows that the predictor was fitted to, are left out.

    Args:
        run: A run of the main table.
        dataset: The benchmark's name on the Hub.
        revision: The commit of the benchmark.
    """
    entries: dict[str, list[EvalResultEntry]] = {}
    reasons: dict[str, str] = {}
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    metadata = {"dataset_revision": revision, "date": today}
    for result in run.results:
        if result.fitted_rows:
            reasons[result.predictor] = f"it was fitted to {result.fitted_rows} of these rows"
        elif math.isnan(result.kendall):
            reasons.setdefault(result.predictor, f"its {result.target} has no Kendall's tau")
        else:
            parts = []
            for name in protocol.COEFFICIENTS:
                ends = get_interval(result, name)
                interval = " [{:.6f}, {:.6f}]".format(*ends) if ends else ""
                parts.append(f"{name}_qpp {getattr(result, name):.6f}{interval}")
            parts.append(f"n {result.n}")
            if result.stands_in:
                parts.append(f"its {result.stands_in} is used instead")
            if result.fitted_rows is None:
                parts.append("the data it was fitted to are not recorded")
            elif result.fitted_on:
                parts.append(f"fitted on {result.fitted_on} of {result.trained_on or 'its data'}")
            task = BenchmarkTask(run.split.rows.info.config_name, result.split, result.target)
            entry = make_entry(task, dataset, result.kendall, notes="; ".join(parts), **metadata)
            entries.setdefault(result.predictor, []).append(entry)
    lines = [f"no result of {name} on {run.split.name}: {why}" for name, why in reasons.items()]
    return entries, lines


def parse_result(entry: EvalResultEntry, task: BenchmarkTask, predictor: str) -> protocol.Result:
    """Parse a leaderboard entry; coefficients that its notes lack are NaN, and a missing `n` is 0.

    Example:
        >>> from huggingface_hub import EvalResultEntry
        >>> task = BenchmarkTask(None, "test", "mean_rr")
        >>> entry = EvalResultEntry("a/b", task.id, 0.5, notes="kendall_qpp 0.5 [0.4, 0.6]; n 80")
        >>> result = parse_result(entry, task, "mine")
        >>> result.kendall, result.kendall_ci_low, result.n, result.pearson
        (0.5, 0.4, 80, nan)
    """
    figures: dict[str, Any] = {}
    for name in protocol.COEFFICIENTS:
        match = re.search(name + _FIGURE, entry.notes or "")
        numbers = [float(part) if part else math.nan for part in match.groups()] if match else []
        value, low, high = numbers or [math.nan] * 3
        figures |= {name: value, f"{name}_ci_low": low, f"{name}_ci_high": high}
        figures[f"{name}_p"] = math.nan
    figures["kendall"] = entry.value
    count = _COUNT.search(entry.notes or "")
    return protocol.Result(
        **vars(protocol.Column(task.target, task.target, task.target)),
        predictor=predictor,
        config=task.config or entry.dataset_id,
        release=None,
        split=task.split,
        n=int(count[1]) if count else 0,
        generated=False,
        **figures,
    )


def write_results(
    run: BenchRun, folder: str | Path, dataset: str, from_hub: bool = True
) -> tuple[list[Path], list[str]]:
    """Write the results of a run as `FOLDER/NAME/.eval_results/*.yaml`.

    Args:
        run: A run of the main table.
        folder: The output folder; NAME is the end of a predictor's name or path.
        dataset: The benchmark's name on the Hub, OWNER/DATASET.
        from_hub: Whether the rows are from the Hub; if so, their commit is recorded.

    Returns:
        The paths of the files, and a note on each predictor or result that is left out.

    Raises:
        PredictorError: No predictor has results, two of them have the same folder name, or the
            split has no name.
    """
    if run.split.name == ALL_ROWS:
        raise PredictorError(
            "leaderboard results need the name of a split; save the rows as FOLDER/test.csv"
        )
    entries_by_name, lines = make_entries(run, dataset, get_commit(dataset) if from_hub else None)
    if not entries_by_name:
        raise PredictorError("; ".join(lines) or "there are no results to write; add predictors")
    paths = {name: Path(folder) / _to_folder_name(name) for name in entries_by_name}
    if len(set(paths.values())) < len(paths):
        raise PredictorError(f"two of {', '.join(paths)} share a folder; evaluate one at a time")
    files = []
    for name, entries in entries_by_name.items():
        files.append(paths[name] / get_results_path(dataset))
        files[-1].parent.mkdir(parents=True, exist_ok=True)
        write_file(files[-1], render_results(entries))
    return files, lines


def _to_folder_name(name: str) -> str:
    """Return a folder name for a predictor.

    >>> _to_folder_name("owner/mine"), _to_folder_name("a/mine.csv:score")
    ('mine', 'mine.csv_score')
    """
    return re.sub(r"[^\w. -]", "_", Path(name).absolute().name)


def evaluate_tasks(model: str, dataset: str, progress: bool = False) -> tuple[str, list[str]]:
    """Evaluate a predictor on all tasks of a benchmark.

    Args:
        model: The predictor's name, for `load_any_predictor`.
        dataset: OWNER/DATASET; its `eval.yaml` lists the tasks.

    Returns:
        The content of the results file in YAML, and a note on each split without results.

    Raises:
        PredictorError: There are no results, for example if the model was fitted to all rows.
        HubError: The benchmark or the model cannot be read.
    """
    entries: list[EvalResultEntry] = []
    lines: list[str] = []
    revision = get_commit(dataset)
    for run in iterate_runs({model: model}, dataset, load_tasks(dataset), progress):
        for name in run.compared.stands_for:  # results of a substitute are not the model's
            lines.append(
                f"no result of {model} on {run.split.name}: it was fitted to some of these rows; "
                f"submit {name}, which was not"
            )
        by_model, notes = make_entries(run, dataset, revision)
        lines += notes
        entries += by_model.get(model, [])
    if not entries:
        raise PredictorError(
            "; ".join(lines) or f"{model} predicts no target of {dataset}; choose another model"
        )
    return render_results(entries), lines


def iterate_runs(
    models: Mapping[str, Any], dataset: str, tasks: Sequence[BenchmarkTask], progress: bool = False
) -> Iterator[BenchRun]:
    """Yield one run of the predictors for each configuration and split of the tasks.

    Args:
        models: As for `load_named_predictors`.
        dataset: As for `open_split`.
        tasks: The tasks; those on one split are adjacent.
    """
    for (config, split), group in groupby(tasks, lambda task: (task.config, task.split)):
        rows = open_split(dataset, config, split)
        predictors, _ = load_predictors(models)
        targets = [task.target for task in group if task.target in rows.rows.column_names]
        yield bench_split(rows, predictors, targets, progress=progress)


_TOLERANCE = 1e-3  # of Kendall's tau: machines may break ties differently


@dataclass(frozen=True)
class LeaderboardResults:
    """The results of one split of a benchmark.

    Attributes:
        dataset: OWNER/DATASET.
        results: The results, sorted by mean Kendall's tau, highest first; if they were verified,
            with tests against the first row.
        published: The published results on the same release and targets.
        notes: Notes on single entries.
        run: The run that verified the results; None if they were not verified.
    """

    dataset: str
    results: list[protocol.Result]
    published: list[protocol.PublishedResult]
    notes: list[str]
    run: BenchRun | None

    def render_page(self) -> str:
        """Render a self-contained HTML page with the ranking and the table."""
        how = "recomputed" if self.run else "as reported by their repositories"
        order = "Tables are sorted by the mean of Kendall's τ over all columns, highest first."
        lines = [f"Results {how}. {order}", *(f"{line}." for line in self.notes)]
        first = self.results[0]
        title = f"Leaderboard of {self.dataset}: {first.config}, {first.split} split"
        return render_report(self.results, self.published, self.run, None, "kendall", lines, title)

    def push_page(self, repo_id: str, **options: Any) -> PushReport:
        """Push the page to the Hub as a static Space.

        Args:
            repo_id: `OWNER/NAME` of the Space.
            options: `private`, `revision`, `dry_run` and `token` of `pqpp_hub.push_files`.

        Raises:
            HubError: The Hub cannot be reached or rejects the upload.
        """
        card = render_card("spaces/leaderboard", dataset=self.dataset)
        files = {"README.md": card.encode(), "index.html": self.render_page().encode()}
        message = f"Leaderboard of {self.dataset}, made with pqpp"
        return pqpp_hub.push_files(files, repo_id, "space", message, **options)


def read_leaderboard(
    source: str | Path,
    benchmark: str | None = None,
    dataset: str | None = None,
    subset: str | None = None,
    split: str | None = None,
    models: Sequence[str] = (),
    verify: bool = False,
    progress: bool = False,
) -> LeaderboardResults:
    """Read the leaderboard of a benchmark.

    Args:
        source: OWNER/DATASET on the Hub, or a folder with models' folders, such as clones or the
            output of `pqpp bench --eval-results`.
        benchmark: For a folder with results on several benchmarks: OWNER/DATASET.
        dataset: With `verify`, a local copy of the rows (folder or table); default: the Hub's.
        subset: The configuration; default: the first by name.
        split: The split; default: `test`, or else the first by name.
        models: Models on the Hub whose results to read, including open pull requests; default: the
            models on the Hub's leaderboard.
        verify: Compute all predictions again, and report differences.

    Raises:
        PredictorError: There are no results, or a folder has results on several benchmarks.
        HubError: The Hub cannot be reached, or has no such leaderboard.
    """
    folder, name = expand(source), str(source)
    if folder.is_dir():
        listed, notes = read_results(folder)
        benchmarks = sorted({listing.entry.dataset_id for listing in listed})
        if len(benchmarks) > 1 and benchmark not in benchmarks:
            remedy = f"set `benchmark` to one of: {', '.join(benchmarks)}"
            raise PredictorError(f"{source} has results on several benchmarks; {remedy}")
        name = benchmark or next(iter(benchmarks), name)
    elif not is_repository_id(name):
        raise PredictorError(f"{source} is neither a folder nor OWNER/DATASET; check the name")
    else:
        listed, notes = pull_results(name, models)
    entries = _select_entries([o for o in listed if o.entry.dataset_id == name], subset, split)
    if not entries:
        how = "write them with pqpp bench --eval-results or pqpp models submit"
        raise PredictorError(f"{source} has no results of pqpp; {'; '.join(notes) or how}")
    results = _sort_results([parse_result(one.entry, task, title) for title, one, task in entries])
    task, run = entries[0][2], None
    notes += [
        f"{listing.model}: from an open pull request, {listing.pull_request}"
        for listing in {one.model: one for _, one, _ in entries if one.pull_request}.values()
    ]
    if verify:
        paths = {
            title: str((folder / listing.model).absolute())
            if (folder / listing.model / CONFIG).is_file()
            else listing.model
            for title, listing, _ in entries
        }
        run, differing = _recompute_results(results, paths, dataset or name, task, progress)
        results = run.results if run else results
        notes += differing
    targets = {result.target for result in results}
    published = [r for r in protocol.read_published() if r.config == task.config]
    published = [result for result in published if result.target in targets]
    return LeaderboardResults(name, results, published, notes, run)


def _select_entries(
    listed: Sequence[ListedResult], subset: str | None, split: str | None
) -> list[tuple[str, ListedResult, BenchmarkTask]]:
    """Return the entries of one configuration and split, with their models' names and tasks."""
    parsed = [(one, task) for one in listed if (task := BenchmarkTask.parse(one.entry.task_id))]
    subset = subset or min((task.config or "" for _, task in parsed), default="")
    parsed = [(one, task) for one, task in parsed if (task.config or "") == subset]
    splits = {task.split for _, task in parsed}
    split = split or min(splits, key=lambda name: (name != "test", name), default="")
    entries = []
    counts: Counter[tuple[str, str]] = Counter()
    for listing, task in parsed:
        if task.split == split:
            counts[listing.model, task.target] += 1
            number = counts[listing.model, task.target]
            title = listing.model if number == 1 else f"{listing.model} ({number})"
            entries.append((title, listing, task))
    return entries


def _sort_results(results: Sequence[protocol.Result]) -> list[protocol.Result]:
    means = {name: kendall for name, _, kendall in protocol.average_results(results)}
    return sorted(results, key=lambda r: (math.isnan(means[r.predictor]), -means[r.predictor]))


def _recompute_results(
    claimed_results: Sequence[protocol.Result],
    paths: Mapping[str, str],
    dataset: str,
    task: BenchmarkTask,
    progress: bool,
) -> tuple[BenchRun | None, list[str]]:
    """Return a run with recomputed results, if any, and a note on each result that differs."""
    targets = list(dict.fromkeys(result.target for result in claimed_results))
    tasks = [BenchmarkTask(task.config, task.split, target) for target in targets]
    models: dict[str, Any] = {}
    lines: list[str] = []
    for name, path in paths.items():
        is_local = path not in PREDICTORS and not Path(path).is_absolute() and expand(path).exists()
        if ":" in path or is_local:  # a path with a colon could name a function, and run its module
            fault = "is not in the results" if is_local else "has a colon; rename the folder"
            lines.append(f"{name} is not verified: its path {path} {fault}")
            continue
        try:
            models[name] = load_any_predictor(path)
        except PqppError as error:
            lines.append(f"{name} is not verified: {error}")
    if not models:
        return None, lines
    (run,) = iterate_runs(models, dataset, tasks, progress)
    replaced = run.compared.stands_for
    for build, name in replaced.items():
        lines.append(f"{name} was fitted to some of these rows; {build} is shown instead")
    claimed = {(result.predictor, result.target): result.kendall for result in claimed_results}
    for rerun in run.results:
        name, target, recomputed = rerun.predictor, rerun.target, rerun.kendall
        reported = claimed.get((replaced.get(name, name), target), recomputed)
        if not abs(reported - recomputed) <= _TOLERANCE:
            lines.append(f"{name} reports {reported:.3f} on {target}; recomputed: {recomputed:.3f}")
    run = replace(run, results=_sort_results(run.results))
    ranked = [result for result in run.results if result.ranked]
    if ranked and len({result.predictor for result in run.results}) > 1:
        run = run.with_tests(ranked[0].predictor, progress)
    unverified = [result for result in claimed_results if result.predictor not in models]
    return replace(run, results=[*run.results, *unverified]), lines
