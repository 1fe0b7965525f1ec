"""Results of a run as the Hub's leaderboards take them: Kendall's tau-b, with notes on the rest.

The notes are text on the Hub; `result_of` reads back what `entries_of` wrote there.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pqpp_files.write_beside import write_whole
from pqpp_hub.eval_results import (
    BenchmarkTask,
    benchmark_tasks,
    commit_of,
    entry,
    results_file,
    results_text,
)
from pqpp_models.bench.protocol import COEFFICIENTS, Result
from pqpp_models.bench.rows import interval_of
from pqpp_models.bench.run import BenchRun, load_predictors, open_split, run_table
from pqpp_models.bench.split import ALL_ROWS
from pqpp_models.errors import PredictorError

if TYPE_CHECKING:
    from huggingface_hub import EvalResultEntry

# As `entries_of` writes them: digits alone, and few, whatever somebody else wrote.
_NUMBER = r"(-?\d\.\d{1,9})"
_FIGURE = f"_qpp {_NUMBER}(?: \\[{_NUMBER}, {_NUMBER}\\])?"
_COUNT = re.compile(r"\bn (\d{1,12})\b")


def entries_of(
    run: BenchRun, dataset: str, revision: str | None = None
) -> tuple[dict[str, list[EvalResultEntry]], list[str]]:
    """Return each predictor's entries of a run, and a line on each figure that is no result.

    Args:
        run: Of the main table.
        dataset: What the benchmark is called on the Hub.
        revision: Its commit.

    A figure on rows that the predictor was fitted to is none, nor one that is not defined.
    """
    entries: dict[str, list[EvalResultEntry]] = {}
    refused: dict[str, str] = {}
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    about = {"dataset_revision": revision, "date": today}
    config = run.split.rows.info.config_name
    for result in run.results:
        if result.fitted_rows:
            refused[result.predictor] = f"it was fitted to {result.fitted_rows} of these rows"
        elif math.isnan(result.kendall):
            refused.setdefault(result.predictor, f"its {result.target} has no Kendall's tau")
        else:
            task = BenchmarkTask(config, result.split, result.target)
            kept = entry(task, dataset, result.kendall, notes=_notes(result), **about)
            entries.setdefault(result.predictor, []).append(kept)
    lines = [f"no result of {name} on {run.split.name}: {why}" for name, why in refused.items()]
    return entries, lines


def _notes(result: Result) -> str:
    parts = []
    for name in COEFFICIENTS:
        ends = interval_of(result, name)
        interval = " [{:.6f}, {:.6f}]".format(*ends) if ends else ""
        parts.append(f"{name}_qpp {getattr(result, name):.6f}{interval}")
    parts.append(f"n {result.n}")
    if result.stands_in:
        parts.append(f"its {result.stands_in} stands in")
    if result.fitted_rows is None:
        parts.append("what it was fitted to is not recorded")
    elif result.fitted_on:
        parts.append(f"fitted on {result.fitted_on} of {result.trained_on or 'its data'}")
    return "; ".join(parts)


def result_of(entry: EvalResultEntry, task: BenchmarkTask, called: str) -> Result:
    """Return an entry as a result; what its notes do not tell is NaN, and `n` 0.

    Example:
        >>> from huggingface_hub import EvalResultEntry
        >>> task = BenchmarkTask(None, "test", "mean_rr")
        >>> kept = EvalResultEntry("a/b", task.id, 0.5, notes="kendall_qpp 0.5 [0.4, 0.6]; n 80")
        >>> found = result_of(kept, task, "mine")
        >>> found.kendall, found.kendall_ci_low, found.n, found.pearson
        (0.5, 0.4, 80, nan)
    """
    figures: dict[str, Any] = {}
    for name in COEFFICIENTS:
        match = re.search(name + _FIGURE, entry.notes or "")
        numbers = [float(part) if part else math.nan for part in match.groups()] if match else []
        value, low, high = numbers or [math.nan] * 3
        figures |= {name: value, f"{name}_ci_low": low, f"{name}_ci_high": high}
        figures[f"{name}_p"] = math.nan
    figures["kendall"] = entry.value
    count = _COUNT.search(entry.notes or "")
    return Result(
        predictor=called,
        target=task.target,
        label=task.target,
        predicted=task.target,
        source=None,
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
    """Write the results of a run into models' folders, `FOLDER/NAME/.eval_results/`.

    Args:
        run: Of the main table.
        folder: Where the models' folders are, or will be; NAME is the last part of a predictor's.
        dataset: What the benchmark is called on the Hub, OWNER/DATASET.
        from_hub: Whether the rows are those of the Hub, whose commit is written then.

    Returns:
        The files, and a line on each predictor that has none.

    Raises:
        PredictorError: None has any, two would have one folder, or the rows have no split.
    """
    if run.split.name == ALL_ROWS:
        raise PredictorError(
            "a task is of a split, and these rows have none; put them into a folder as test.csv, "
            "and name that"
        )
    entries_by_name, lines = entries_of(run, dataset, commit_of(dataset) if from_hub else None)
    if not entries_by_name:
        raise PredictorError("; ".join(lines) or "there is no result to write")
    places = {name: Path(folder) / _folder_of(name) for name in entries_by_name}
    if len(set(places.values())) < len(places):
        raise PredictorError(
            f"two of {', '.join(places)} would have one folder; compare one at a time"
        )
    files = []
    for name, entries in entries_by_name.items():
        files.append(places[name] / results_file(dataset))
        files[-1].parent.mkdir(parents=True, exist_ok=True)
        write_whole(files[-1], results_text(entries))
    return files, lines


def _folder_of(name: str) -> str:
    """Return what a predictor's folder is called.

    >>> _folder_of("owner/mine"), _folder_of("a/mine.csv:score")
    ('mine', 'mine.csv_score')
    """
    return re.sub(r"[^\w. -]", "_", Path(name).absolute().name)


def evaluated(model: str, dataset: str, progress: bool = False) -> tuple[str, list[str]]:
    """Measure a predictor on all tasks of a benchmark.

    Args:
        model: What `named_predictor` takes.
        dataset: OWNER/DATASET; its `eval.yaml` says which tasks there are.
        progress: Show progress bars on standard error.

    Returns:
        What its file of results holds, and a line on each split that gave none.

    Raises:
        PredictorError: It gave none at all, as where it was fitted to all rows.
        HubError: The benchmark or the model cannot be read.
    """
    entries: list[EvalResultEntry] = []
    lines: list[str] = []
    revision = commit_of(dataset)
    for run in runs_of({model: model}, dataset, benchmark_tasks(dataset), progress):
        for name in run.builds.stands_for:  # a figure of the build is none of the release
            lines.append(
                f"no result of {model} on {run.split.name}: it was fitted to some of these rows; "
                f"submit {name}, which was not"
            )
        by_model, refused = entries_of(run, dataset, revision)
        lines += refused
        entries += by_model.get(model, [])
    if not entries:
        raise PredictorError("; ".join(lines) or f"{model} predicts no target of {dataset}")
    return results_text(entries), lines


def runs_of(
    models: Mapping[str, Any], dataset: str, tasks: Sequence[BenchmarkTask], progress: bool = False
) -> Iterator[BenchRun]:
    """Yield a run of some predictors for each configuration and split of some tasks.

    Args:
        models: Name to what `named_predictors` takes.
        dataset: What `open_split` takes.
        tasks: Those of one split follow each other.
        progress: Show progress bars on standard error.
    """
    for (config, split), group in groupby(tasks, lambda task: (task.config, task.split)):
        rows = open_split(dataset, config, split)
        predictors, _ = load_predictors(models, rows)
        targets = [task.target for task in group if task.target in rows.rows.column_names]
        yield run_table(rows, predictors, targets, progress=progress)
