"""Benchmarks, results and leaderboards in the Hub's format: `eval.yaml`, `.eval_results/*.yaml`.

See huggingface.co/docs/hub/eval-results. Only this module depends on the format.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from packaging.version import Version

from pqpp_files.escape import escape_controls
from pqpp_files.foreign.json_values import read_bounded
from pqpp_files.foreign.yaml_values import parse_yaml, read_yaml
from pqpp_files.paths import expand, join_inside, walk_files
from pqpp_hub.pull import pull_files
from pqpp_hub.push import HubError, PushReport, push_files, require_repository_id
from pqpp_hub.reasons import describe_error

if TYPE_CHECKING:
    from huggingface_hub import EvalResultEntry

BENCHMARK = "eval.yaml"
RESULTS = ".eval_results"
_FRAMEWORK = "pqpp"
_DEFAULT = "default"  # the name that `datasets` gives to an unnamed configuration
_SEPARATOR = "--"  # not part of any target's name


@dataclass(frozen=True)
class BenchmarkTask:
    """A task of a benchmark: predict one target on one split.

    Attributes:
        config: The configuration; None if it has no name.
        target: The column of true values.
    """

    config: str | None
    split: str
    target: str

    @property
    def id(self) -> str:
        """The task's id on the Hub.

        >>> BenchmarkTask(None, "test", "mean_hbpp").id
        'test--mean_hbpp'
        >>> BenchmarkTask("pqpp", "test", "mean_hbpp").id
        'pqpp--test--mean_hbpp'
        """
        config = None if self.config == _DEFAULT else self.config
        return _SEPARATOR.join(part for part in (config, self.split, self.target) if part)

    @classmethod
    def parse(cls, name: str) -> Self | None:
        """Parse a task's id on the Hub; return None if it is not the id of a pqpp task.

        >>> BenchmarkTask.parse("test--mean_hbpp"), BenchmarkTask.parse("gpqa_diamond")
        (BenchmarkTask(config=None, split='test', target='mean_hbpp'), None)
        """
        parts = name.split(_SEPARATOR)
        if len(parts) not in (2, 3):
            return None
        return cls(parts[0] if len(parts) == 3 else None, *parts[-2:])


def render_benchmark(name: str, description: str, tasks: Iterable[BenchmarkTask]) -> str:
    r"""Return the `eval.yaml` that makes a dataset's repository a benchmark.

    >>> print(render_benchmark("Toy", "Prompts.", [BenchmarkTask(None, "test", "mean_rr")]), end="")
    name: Toy
    description: Prompts.
    evaluation_framework: pqpp
    tasks:
    - id: test--mean_rr
      split: test
    >>> "\u202e" in render_benchmark("a \u202e cat", "Prompts.", [])
    False
    """
    task_entries = []
    for task in tasks:
        config = {} if task.config in (None, _DEFAULT) else {"config": task.config}
        task_entries.append({"id": task.id, **config, "split": task.split})
    header = {"name": name, "description": description, "evaluation_framework": _FRAMEWORK}
    return _to_yaml({**header, "tasks": task_entries})


def load_tasks(dataset: str) -> list[BenchmarkTask]:
    """Return the pqpp tasks listed in a benchmark's `eval.yaml`.

    Args:
        dataset: A folder or OWNER/DATASET.

    Raises:
        HubError: The benchmark does not exist, cannot be read, or has no pqpp tasks.
    """
    folder = expand(dataset)
    if not folder.is_dir():
        require_repository_id(dataset)
        folder = pull_files(dataset, [BENCHMARK, ".gitattributes"], error=HubError, kind="dataset")
    path = join_inside(folder, BENCHMARK)
    entries = read_yaml(path, error=HubError).get("tasks") if path.is_file() else None
    entries = entries if isinstance(entries, list) else []
    names = [str(entry.get("id")) for entry in entries if isinstance(entry, dict)]
    tasks = [task for name in names if (task := BenchmarkTask.parse(name))]
    if not tasks:
        fault = f"{dataset} has no {BENCHMARK} with pqpp tasks"
        raise HubError(f"{fault}; publish one with `pqpp datasets push`")
    return tasks


def get_commit(dataset: str) -> str | None:
    """Return the last commit of a dataset on the Hub, or None if the request fails."""
    from huggingface_hub import HfApi

    try:
        return HfApi(library_name="pqpp").dataset_info(dataset).sha
    except Exception:
        return None


def get_results_path(dataset: str) -> str:
    """Return the path of a benchmark's results in a model's repository.

    >>> get_results_path("owner/toy")
    '.eval_results/owner--toy.yaml'
    """
    return f"{RESULTS}/{dataset.replace('/', _SEPARATOR)}.yaml"


def render_results(entries: Sequence[EvalResultEntry]) -> str:
    """Return the content of a results file, in YAML."""
    return _to_yaml(_import_client().eval_result_entries_to_yaml(list(entries)))


def make_entry(task: BenchmarkTask, dataset: str, value: float, **details: Any) -> EvalResultEntry:
    """Return the entry of a results file for one task.

    Args:
        dataset: OWNER/DATASET.
        value: The result, to be rounded to six decimals.
        **details: Further arguments of `huggingface_hub.EvalResultEntry`, such as `notes`.
    """
    from huggingface_hub import constants

    source = {"source_url": f"{constants.ENDPOINT}/datasets/{dataset}", "source_name": "pqpp bench"}
    return _import_client().EvalResultEntry(dataset, task.id, round(value, 6), **source, **details)


def _import_client() -> Any:
    import huggingface_hub

    if Version(huggingface_hub.__version__) < Version("1.22"):  # 1.22 lists all models
        need = f"eval results need huggingface_hub 1.22 or newer, got {huggingface_hub.__version__}"
        raise HubError(f"{need}; run: pip install -U huggingface_hub")
    return huggingface_hub


def _to_yaml(value: Any) -> str:
    import yaml

    text = yaml.safe_dump(value, sort_keys=False, allow_unicode=True)
    return text if text == escape_controls(text, "\n") else yaml.safe_dump(value, sort_keys=False)


@dataclass(frozen=True)
class ListedResult:
    """A published result.

    Attributes:
        model: `OWNER/NAME`, or the folder of a clone.
        entry: The entry of the results file.
        pull_request: The number of the open pull request that contains it; None if it is merged.
    """

    model: str
    entry: EvalResultEntry
    pull_request: int | None = None


def read_results(folder: Path) -> tuple[list[ListedResult], list[str]]:
    """Return the results of all models in a folder, and a note on each damaged file.

    Args:
        folder: A folder with one folder per model; files that are links out of it are ignored.
    """
    candidates = (f for f in walk_files(folder) if f.match(f"{RESULTS}/*.yaml") and f.is_file())
    files = [file for file in candidates if folder.resolve() in file.resolve().parents]
    return _parse_files((f.parents[1].relative_to(folder).as_posix(), None, f) for f in files)


def pull_results(dataset: str, models: Sequence[str] = ()) -> tuple[list[ListedResult], list[str]]:
    """Return the results of models on a benchmark, downloaded from the models' repositories.

    Args:
        dataset: OWNER/DATASET.
        models: Models whose repositories and open pull requests to read; default: the models on
            the Hub's leaderboard.

    Returns:
        The results, merged ones in preference to those in pull requests, and a note on each
        damaged file.

    Raises:
        HubError: The Hub cannot be reached, or has no leaderboard for the benchmark.
    """
    from huggingface_hub import HfApi

    patterns = [f"{RESULTS}/*.yaml", ".gitattributes"]
    sources = [] if models else _list_leaderboard_models(dataset)
    for model in models:
        filters: dict[str, Any] = {"discussion_type": "pull_request", "discussion_status": "open"}
        try:
            requests = HfApi(library_name="pqpp").get_repo_discussions(model, **filters)
            numbers = sorted(discussion.num for discussion in requests)
        except Exception as refusal:
            raise HubError(f"the Hub model {model!r} {describe_error(refusal, 'read')}") from None
        sources += [(model, None), *((model, number) for number in numbers)]
    files = []
    for model, number in sources:
        revision = None if number is None else f"refs/pr/{number}"
        folder = pull_files(model, patterns, revision, error=HubError)
        files += [(model, number, file) for file in sorted(folder.glob(f"{RESULTS}/*.yaml"))]
    listings, lines = _parse_files(files)
    listings = [o for o in listings if o.entry.dataset_id == dataset]
    merged = {(o.model, o.entry.task_id) for o in listings if o.pull_request is None}
    duplicates = [o for o in listings if o.pull_request and (o.model, o.entry.task_id) in merged]
    return [o for o in listings if o not in duplicates], lines


def _list_leaderboard_models(dataset: str) -> list[tuple[str, int | None]]:
    """Return the models on the Hub's leaderboard, each with its pull request or None."""
    from huggingface_hub import HfApi, errors

    _import_client()
    try:
        ranked = HfApi(library_name="pqpp").get_dataset_leaderboard(dataset, base_model_only=False)
    except Exception as refusal:
        reason = describe_error(refusal, "read")
        if isinstance(refusal, errors.HfHubHTTPError) and get_commit(dataset) is not None:
            reason = "has no leaderboard on the Hub; list the models with `models`"
        raise HubError(f"the Hub dataset {dataset!r} {reason}") from None
    return sorted({(r.model_id, r.pull_request) for r in ranked}, key=lambda p: (p[0], p[1] or 0))


def _parse_files(
    files: Iterable[tuple[str, int | None, Path]],
) -> tuple[list[ListedResult], list[str]]:
    """Return the results in files, and a note on each damaged file."""
    valid: list[ListedResult] = []
    lines: list[str] = []
    for model, number, path in files:
        try:
            text = read_bounded(path, 1_000_000, HubError, "shorten it")
            content = parse_yaml(text, path.name, HubError)
            entries = _import_client().parse_eval_result_entries(content)
            for entry in entries:
                texts = (entry.task_id, entry.dataset_id, entry.notes or "")
                if not all(isinstance(text, str) for text in texts):
                    raise TypeError
                entry.value = float(entry.value)
                if BenchmarkTask.parse(entry.task_id) and not -1 <= entry.value <= 1:
                    raise ValueError  # it is Kendall's tau
            valid += [ListedResult(model, entry, number) for entry in entries]
        except (OSError, HubError, LookupError, TypeError, ValueError, AttributeError):
            lines.append(f"skipped {model}: {RESULTS}/{path.name} has no valid results")
    return valid, lines


def submit_results(model: str, dataset: str, text: str, dry_run: bool = False) -> PushReport:
    """Open a pull request that adds benchmark results to a model's repository.

    Args:
        model: `OWNER/NAME`; the owner can be anyone.
        dataset: OWNER/DATASET.
        dry_run: Whether to report the changes without making them.

    Raises:
        HubError: The Hub cannot be reached, or refuses the pull request.
    """
    message = f"Results on {dataset}, measured with pqpp"
    files = {get_results_path(dataset): text.encode()}
    return push_files(files, model, "model", message, dry_run=dry_run, pull_request=True)
