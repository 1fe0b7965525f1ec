"""Publish the folder of a model on the Hub."""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pqpp_hub
from pqpp_backbones.errors import ModelError
from pqpp_files.paths import expand
from pqpp_hub import PushReport
from pqpp_hub.eval_results import RESULTS


def push_model(
    folder: Path,
    patterns: Sequence[str],
    repo_id: str,
    commit_message: str | None = None,
    extra_files: Mapping[str, Path | bytes] | None = None,
    **options: Any,
) -> PushReport:
    """Push the folder of a model, with its benchmark results, in one commit.

    Args:
        patterns: Patterns of the files to push; files of the repository that match a pattern and
            are not in the folder are removed.
        repo_id: ``owner/repository``.
        extra_files: Further files or their content, by path in the repository.
        **options: ``private``, ``revision``, ``dry_run`` and ``token`` of ``pqpp_hub.push_files``.

    Raises:
        HubError: the Hub cannot be reached or refuses the push.
    """
    paths = [path for pattern in patterns for path in sorted(folder.glob(pattern))]
    names = [path.name for path in paths if path.is_file()]
    names += [f"{RESULTS}/{path.name}" for path in sorted((folder / RESULTS).glob("*.yaml"))]
    return pqpp_hub.push_files(
        {name: folder / name for name in dict.fromkeys(names)} | dict(extra_files or {}),
        repo_id,
        "model",
        commit_message or "Upload a model with pqpp",
        lambda name: any(fnmatchcase(name, pattern) for pattern in patterns) and "/" not in name,
        **options,
    )


def require_model_folder(path: Any) -> Path:
    """Return the path of a model's folder; raise an error if it does not exist.

    Raises:
        ModelError: the path is not a folder.
    """
    folder = expand(path)
    if not folder.is_dir():
        raise ModelError(f"{folder} is not a folder; save the model first")
    return folder
