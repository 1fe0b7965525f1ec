"""Several measures of several runs that stand in files."""

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pqpp_files.names import did_you_mean
from pqpp_metrics.errors import MetricFileError
from pqpp_metrics.files.joined_rows import rows_left_out
from pqpp_metrics.files.rankings import read_side
from pqpp_metrics.files.sources import TABLES, Reading, has_suffix, input_source, split_columns
from pqpp_metrics.forms import plain
from pqpp_metrics.functional._measures import parsed_measures
from pqpp_metrics.runs import compare_runs, evaluate_run


def compute_runs(
    measures: str, runs: Sequence[str], qrels: str, chosen: Mapping[str, Any], how: Reading
) -> tuple[dict[str, Any], str]:
    """Compute measures of the runs that were named.

    Args:
        measures: Their names, with commas between them.
        runs: Their files, as `[NAME=]FILE[:COLUMN]`.
        qrels: The file of the relevance judgments.
        chosen: Options of `pqpp_metrics.runs.compare_runs`.
        how: How the files are read.

    Returns:
        What `compare_runs` returns, or for one run what `evaluate_run` does, as plain values; and
        what is to be said of rows that were left out because of NaN.

    Raises:
        MetricFileError: What can't be used, in one line.
        MetricInputError: What a measure refuses; queries on one side only.
    """
    function = evaluate_run if len(runs) == 1 else compare_runs
    known = [name for name in inspect.signature(function).parameters if name != "missing"][3:]
    for name in chosen:
        if name not in known:
            raise MetricFileError(f"`option` {name}: it is unknown; {did_you_mean(name, known)}")
    parsed_measures(measures)  # before anything long is read
    files = _named(runs)
    trec = [path for path, _ in map(split_columns, [qrels, *files.values()])]
    trec = [path for path in trec if not has_suffix(path, TABLES)]  # called anything
    tables: dict[Any, Any] = {}
    judged = input_source("qrels", qrels, how, trec, tables)
    # Whether the judgments stand in the file of a run.
    are_one = {name: split_columns(file)[0] == judged.path for name, file in files.items()}
    judgments, left = read_side("qrels", judged, how, any(are_one.values()))
    run_of: dict[str, Any] = {}
    for name, file in files.items():
        source = input_source(name, file, how, trec, {**tables})
        run_of[name], more = read_side("run", source, how, are_one[name])
        left += more
    given: Any = run_of if len(run_of) > 1 else next(iter(run_of.values()))
    result = plain(function(given, judgments, measures, missing=how.missing, **chosen))
    return result, rows_left_out(left)


def _named(runs: Sequence[str]) -> dict[str, str]:
    """Return runs by their names: as given, else those of the files."""
    file_of: dict[str, str] = {}
    for text in runs:
        name, equals, file = text.partition("=")
        if not equals or Path(text).exists():
            name, file = Path(text).name.removesuffix(".gz"), text
            name = name.rpartition(".")[0] or name
        if name in file_of:
            raise MetricFileError(f"`run` {text}: two runs are called {name!r}; write NAME={file}")
        file_of[name] = file
    return file_of
