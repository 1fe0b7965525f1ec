"""A benchmark's leaderboard: the results that models' repositories hold, as a table and a page."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pqpp_hub
from pqpp_backbones.checkpoint import CONFIG
from pqpp_files.errors import PqppError
from pqpp_files.paths import expanded
from pqpp_hub import PushReport
from pqpp_hub.card import render_card
from pqpp_hub.eval_results import BenchmarkTask, Listed, listed_in_folder, listed_on_hub
from pqpp_models.bench.eval_results import result_of, runs_of
from pqpp_models.bench.given import named_predictor
from pqpp_models.bench.held_out import Builds
from pqpp_models.bench.protocol import (
    PublishedResult,
    Result,
    mean_over_targets,
    published_results,
)
from pqpp_models.bench.report import render_report
from pqpp_models.bench.run import BenchRun
from pqpp_models.bench.split import Split
from pqpp_models.errors import PredictorError

_SAME = 1e-3  # of Kendall's tau: a machine may break a tie otherwise


@dataclass(frozen=True)
class Board:
    """The results of one split of a benchmark.

    Attributes:
        dataset: OWNER/DATASET.
        run: The results, the highest mean of Kendall's tau first; of what was verified also the
            predictions, and every result tested against the first one's.
        published: The published figures of the same release and targets.
        notes: What is to be said of single entries.
    """

    dataset: str
    run: BenchRun
    published: list[PublishedResult]
    notes: list[str]

    def page(self) -> str:
        """Return a self-contained HTML page: the ranking, the table and, verified, the charts."""
        how = "computed here again" if self.run.predictions else "as their repositories tell them"
        order = "The tables have the highest mean of Kendall's τ over all columns first."
        lines = [f"Results {how}. {order}", *(f"{line}." for line in self.notes)]
        title = (
            f"Leaderboard of {self.dataset}: {self.run.split.config}, {self.run.split.name} split"
        )
        return render_report(self.run, self.published, None, False, "kendall", lines, title)

    def push_page(self, repo_id: str, **options: Any) -> PushReport:
        """Publish the page as a static Space, which needs no server.

        Args:
            repo_id: `OWNER/NAME` of the Space.
            options: `private`, `revision`, `dry_run` and `token` of `pqpp_hub.push_files`.

        Raises:
            HubError: The Hub cannot be reached or refuses.
        """
        card = render_card("spaces/leaderboard", dataset=self.dataset)
        files = {"README.md": card.encode(), "index.html": self.page().encode()}
        message = f"Leaderboard of {self.dataset}, made with pqpp"
        return pqpp_hub.push_files(files, repo_id, "space", files.__contains__, message, **options)


def leaderboard(
    source: str | Path,
    benchmark: str | None = None,
    dataset: str | None = None,
    subset: str | None = None,
    split: str | None = None,
    models: Sequence[str] = (),
    verify: bool = False,
    progress: bool = False,
) -> Board:
    """Read the leaderboard of a benchmark.

    Args:
        source: OWNER/DATASET on the Hub, or a folder with models' folders, as clones are and
            `pqpp bench --eval-results` writes them.
        benchmark: Of a folder: OWNER/DATASET, where there are results on several.
        dataset: With `verify`: the same rows here, a folder or a table; those of the Hub if left
            out.
        subset: Its configuration; the only one, or the first by name, if left out.
        split: Its split; `test` where there is one, else the first by name, if left out.
        models: Of the Hub: the models whose repositories are read, with their open pull requests;
            those that the Hub's own leaderboard names if left out.
        verify: Let every predictor predict again, and tell where its result differs.
        progress: Show progress bars on standard error.

    Raises:
        PredictorError: There are no results, or a folder has results on several benchmarks.
        HubError: The Hub cannot be reached, or keeps no leaderboard of it.
    """
    folder = expanded(source)
    name = str(source)
    if folder.is_dir():
        listed, notes = listed_in_folder(folder)
        named = sorted({listing.entry.dataset_id for listing in listed})
        if len(named) > 1 and benchmark not in named:
            raise PredictorError(
                f"{source} has results on {', '.join(named)}; say which by `benchmark`"
            )
        name = benchmark or next(iter(named), name)
    else:
        listed, notes = listed_on_hub(name, models)
    entries = _of_one_split([o for o in listed if o.entry.dataset_id == name], subset, split)
    if not entries:
        how = "write some by `pqpp bench --eval-results` or `pqpp models submit`"
        raise PredictorError(f"{source}: no results of pqpp; {'; '.join(notes) or how}")
    results = [result_of(listing.entry, task, called) for called, listing, task in entries]
    task = entries[0][2]
    rows = Split(None, task.config or name, task.split)
    run = BenchRun(rows, {}, _ordered(results), [], {}, Builds({}, {}, []))
    notes += [
        f"{listing.model} by a pull request that is not merged: {listing.pull_request}"
        for listing in {one.model: one for _, one, _ in entries if one.pull_request}.values()
    ]
    if verify:
        places = {
            called: str(folder / listing.model)
            if (folder / listing.model / CONFIG).is_file()
            else listing.model
            for called, listing, _ in entries
        }
        run, differing = _verified(run, places, dataset or name, task, progress)
        notes += differing
    targets = {result.target for result in results}
    mine = [r for r in published_results() if r.config == task.config and r.target in targets]
    return Board(name, run, mine, notes)


def _of_one_split(
    listed: Sequence[Listed], subset: str | None, split: str | None
) -> list[tuple[str, Listed, BenchmarkTask]]:
    """Return the entries of the tasks of one configuration and split, with their names.

    The name is the model's; where it has several results on one task, the later ones are numbered.
    """
    known = [(one, task) for one in listed if (task := BenchmarkTask.of(one.entry.task_id))]
    subset = subset or min((task.config or "" for _, task in known), default="")
    known = [(one, task) for one, task in known if (task.config or "") == subset]
    splits = {task.split for _, task in known}
    split = split or min(splits, key=lambda name: (name != "test", name), default="")
    entries = []
    times: Counter[tuple[str, str]] = Counter()
    for listing, task in known:
        if task.split == split:
            times[listing.model, task.target] += 1
            number = times[listing.model, task.target]
            called = listing.model if number == 1 else f"{listing.model} ({number})"
            entries.append((called, listing, task))
    return entries


def _ordered(results: Sequence[Result]) -> list[Result]:
    means = {name: kendall for name, _, kendall in mean_over_targets(results)}
    return sorted(
        results, key=lambda result: (math.isnan(means[result.predictor]), -means[result.predictor])
    )


def _verified(
    claimed_run: BenchRun,
    places: Mapping[str, str],
    dataset: str,
    task: BenchmarkTask,
    progress: bool,
) -> tuple[BenchRun, list[str]]:
    """Return the board with figures that were computed here, and a line on what differs."""
    targets = list(dict.fromkeys(result.target for result in claimed_run.results))
    tasks = [BenchmarkTask(task.config, task.split, target) for target in targets]
    models: dict[str, Any] = {}
    lines: list[str] = []
    for name, place in places.items():
        if ":" in place:  # to pqpp bench MODULE:FUNCTION, and what was downloaded is never run
            lines.append(f"{name} is not verified: a colon stands in {place}; rename the folder")
            continue
        try:
            models[name] = named_predictor(place)
        except PqppError as error:
            lines.append(f"{name} is not verified: {error}")
    if not models:
        return claimed_run, lines
    (run,) = runs_of(models, dataset, tasks, progress)
    own = run.builds.stands_for
    lines += [f"{name} was fitted to some of these rows; {b} is shown" for b, name in own.items()]
    claimed = {(result.predictor, result.target): result.kendall for result in claimed_run.results}
    for rerun in run.results:
        name, target, found = rerun.predictor, rerun.target, rerun.kendall
        value = claimed.get((own.get(name, name), target), found)
        if not abs(value - found) <= _SAME:
            lines.append(f"{name} tells {value:.3f} on {target}, here it is {found:.3f}")
    run = replace(run, results=_ordered(run.results))
    ranked = [result for result in run.results if result.ranked]
    if ranked and len({result.predictor for result in run.results}) > 1:
        run = run.tested(ranked[0].predictor, progress)
    rest = [result for result in claimed_run.results if result.predictor not in models]
    return replace(run, results=[*run.results, *rest]), lines
