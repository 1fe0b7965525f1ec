"""Publishing a predictor, or another kind of model that is registered here, on the Hub."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pqpp_autoload
import pqpp_hub
from pqpp_hub import PushReport, is_repository_id
from pqpp_models import registry
from pqpp_models.checkpoint import CONFIG, FILES
from pqpp_models.errors import CheckpointError, HubError
from pqpp_models.foreign import read_foreign_json
from pqpp_models.predictor import Predictor

if TYPE_CHECKING:
    import os

_KINDS: dict[str, Callable[[Path], Sequence[str]]] = {}


def register_kind(model_type: str, check: Callable[[Path], Sequence[str]]) -> None:
    """Let `push_to_hub` take the folders of another kind of model.

    Args:
        model_type: What the folder's configuration is called.
        check: Loads a folder's model, so that nothing unusable is published, and returns the
            patterns of the names of its files.
    """
    _KINDS[model_type] = check


def push_to_hub(
    predictor: Predictor | str | os.PathLike[str],
    repo_id: str,
    private: bool = False,
    revision: str | None = None,
    dry_run: bool = False,
    token: str | None = None,
    commit_message: str | None = None,
) -> PushReport:
    """Publish a predictor, or a model of another registered kind, on the Hub, in one commit.

    Only a checkpoint's files are pushed, and only such files of an older checkpoint are removed;
    others in the repository stay. What is pushed is loaded first, so that nothing unusable is
    published. For all else see ``pqpp_hub.push_files``.

    Args:
        predictor: a predictor, a folder written by ``save_pretrained`` or by
            ``training/train_rahf.py``, or a shipped name.
        repo_id: ``owner/repository``.
        private: make a new repository private. A public one that exists is then refused.
        revision: the branch to push to, made from the main branch if missing; main if left out.
        dry_run: only say what would change; nothing is written.
        token: an access token with write permission; the stored one if left out. It is never
            shown, logged or kept.

    Returns:
        What was done, or would be.

    Raises:
        CheckpointError: the folder holds no usable predictor and no model of a registered kind.
        HubError: the Hub cannot be reached or refuses; one line says why and what to do.
    """
    if not is_repository_id(repo_id):  # before anything is loaded
        raise HubError(f"{repo_id!r} is not a valid repository name; write OWNER/REPOSITORY")
    with _checkpoint_folder(predictor) as (folder, patterns):
        found = {name: folder / name for name in _files_of(folder, patterns)}
        return pqpp_hub.push_files(
            found,
            repo_id,
            "model",
            lambda name: any(fnmatchcase(name, one) for one in patterns) and "/" not in name,
            commit_message or "Upload a model with pqpp",
            private=private,
            revision=revision,
            dry_run=dry_run,
            token=token,
        )


@contextmanager
def _checkpoint_folder(predictor: Any) -> Iterator[tuple[Path, Sequence[str]]]:
    """Give the folder of what has been loaded from it, to be sure that it can be, and its files."""
    if isinstance(predictor, str) and predictor in {**registry.PREDICTORS, **registry.RETIRED}:
        predictor = Predictor.from_pretrained(predictor)
    if isinstance(predictor, Predictor):
        with tempfile.TemporaryDirectory() as beside:
            folder = predictor.save_pretrained(Path(beside) / "checkpoint")
            Predictor.from_pretrained(folder)
            yield folder, FILES
        return
    folder = Path(predictor).expanduser()
    if not folder.is_dir():
        raise CheckpointError(f"there is no folder {folder}; save the predictor first")
    pqpp_autoload.patch_now(__name__)
    check = _KINDS.get(_model_type(folder))
    if check is None:
        Predictor.from_pretrained(folder)
    yield folder, FILES if check is None else check(folder)


def _model_type(folder: Path) -> Any:
    try:
        return str(read_foreign_json(folder / CONFIG).get("model_type"))
    except (OSError, ValueError, AttributeError):
        return None


def _files_of(folder: Path, patterns: Sequence[str]) -> list[str]:
    """Return the names of a folder's files that match, in the patterns' order."""
    found = [path.name for one in patterns for path in sorted(folder.glob(one)) if path.is_file()]
    return list(dict.fromkeys(found))
