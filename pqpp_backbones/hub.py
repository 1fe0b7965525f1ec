"""Publishing the folder of any model on the Hub."""

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
    """Publish a model's folder, which the caller has loaded before, in one commit.

    Its benchmark results, `.eval_results/*.yaml`, are pushed too; other results are kept.

    Args:
        patterns: Names, or patterns of names, of the files that are pushed; only such files of an
            older model are removed, others in the repository stay.
        repo_id: ``owner/repository``.
        extra_files: Further files: path in the repository to the file or its content.
        options: ``private``, ``revision``, ``dry_run`` and ``token`` of ``pqpp_hub.push_files``.

    Raises:
        HubError: the Hub cannot be reached or refuses; one line gives the reason and the fix.
    """
    paths = [path for pattern in patterns for path in sorted(folder.glob(pattern))]
    names = [path.name for path in paths if path.is_file()]
    names += [f"{RESULTS}/{path.name}" for path in sorted((folder / RESULTS).glob("*.yaml"))]
    return pqpp_hub.push_files(
        {name: folder / name for name in dict.fromkeys(names)} | dict(extra_files or {}),
        repo_id,
        "model",
        lambda name: any(fnmatchcase(name, pattern) for pattern in patterns) and "/" not in name,
        commit_message or "Upload a model with pqpp",
        **options,
    )


def find_model_folder(path: Any) -> Path:
    """Return the folder of a saved model.

    Raises:
        ModelError: the folder does not exist.
    """
    folder = expand(path)
    if not folder.is_dir():
        raise ModelError(f"no folder {folder}; save the model first")
    return folder
