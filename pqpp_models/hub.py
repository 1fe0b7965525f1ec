"""Fetching a predictor from the Hugging Face Hub, and pushing one to it."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pqpp_hub
from pqpp_files.hashes import content_id
from pqpp_hub import PushReport, is_repository_id
from pqpp_hub.reasons import NOT_CACHED, reason_of
from pqpp_models.checkpoint import CARD, CONFIG, EXTRA_FILES, WEIGHTS
from pqpp_models.errors import CheckpointError, HubError

if TYPE_CHECKING:
    import os

    from pqpp_models.predictor import Predictor

# Only these are ever fetched, pushed or removed: no code, no pickle.
_FILES = (CONFIG, WEIGHTS, CARD, *EXTRA_FILES)


def fetch_checkpoint(
    repo_id: str,
    revision: str | None = None,
    cache_dir: str | None = None,
    token: str | bool | None = None,
    files: Sequence[str] = _FILES,
) -> Path:
    """Download a predictor's files, or find them in the cache, and return their folder.

    What arrives damaged is downloaded once more, and refused if it is damaged again.

    Args:
        repo_id: ``owner/repository`` of a model on the Hub.
        revision: a branch, tag or commit; the main branch if left out.
        cache_dir: where downloads are kept; the Hub client's own place if left out.
        token: an access token for a private or gated repository, or ``True`` for the stored one.
        files: names or patterns of what is fetched; those of a predictor if left out.

    Returns:
        A folder with those of the files that the repository has: ``config.json``, ``README.md``,
        ``model.safetensors`` and the files of a tokenizer or processor.

    Raises:
        CheckpointError: the repository or revision does not exist or may not be read, the Hub
            cannot be reached and nothing is cached, or what arrives is damaged. The token is
            never in the message.
    """
    from huggingface_hub import snapshot_download

    at = f" at revision {revision!r}" if revision else ""
    where = {"revision": revision, "cache_dir": cache_dir, "token": token}
    where["allow_patterns"] = list(files)
    try:
        folder = Path(snapshot_download(repo_id, **where))
        damaged = _discard_damaged(folder)
        if damaged:
            folder = Path(snapshot_download(repo_id, **where))
            absent = [name for name in damaged if not (folder / name).is_file()]
            damaged = absent or _discard_damaged(folder)
        if not damaged:
            return folder
        reason = f"arrived damaged ({', '.join(damaged)}); nothing of it was kept, try again"
    except Exception as error:
        reason = _why_not(error, repo_id, token)
    raise CheckpointError(f"the Hub repository {repo_id!r}{at} {reason}")


def push_to_hub(
    predictor: Predictor | str | os.PathLike[str],
    repo_id: str,
    private: bool = False,
    revision: str | None = None,
    dry_run: bool = False,
    token: str | None = None,
    commit_message: str | None = None,
) -> PushReport:
    """Publish a predictor, or a RAHF model, as a model on the Hub, in one commit.

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
        commit_message: what the commit says.

    Returns:
        What was done, or would be.

    Raises:
        CheckpointError: the folder holds no usable predictor and no usable RAHF model.
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
            error=HubError,
        )


@contextmanager
def _checkpoint_folder(predictor: Any) -> Iterator[tuple[Path, Sequence[str]]]:
    """Give the folder of what has been loaded from it, to be sure that it can be, and its files."""
    from pqpp_models import registry
    from pqpp_models.predictor import Predictor

    named = isinstance(predictor, str) and predictor in registry.PREDICTORS
    if not named and not isinstance(predictor, Predictor):
        folder = Path(predictor).expanduser()
        if not folder.is_dir():
            raise CheckpointError(f"there is no folder {folder}; save the predictor first")
        if _holds_rahf(folder):
            from pqpp_feedback.rahf.feedback import FeedbackModel
            from pqpp_feedback.rahf.publishing import FILES

            FeedbackModel.from_pretrained(folder, device="cpu")
            yield folder, FILES
            return
        Predictor.from_pretrained(folder)
        yield folder, _FILES
        return
    loaded = Predictor.from_pretrained(predictor) if named else predictor
    with tempfile.TemporaryDirectory() as beside:
        folder = loaded.save_pretrained(Path(beside) / "checkpoint")
        Predictor.from_pretrained(folder)
        yield folder, _FILES


def _holds_rahf(folder: Path) -> bool:
    """Tell whether a folder's configuration is that of a RAHF model."""
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(config, dict) and config.get("model_type") == "rahf"


def _files_of(folder: Path, patterns: Sequence[str]) -> list[str]:
    """Return the names of a folder's files that match, in the patterns' order."""
    found = [path.name for one in patterns for path in sorted(folder.glob(one)) if path.is_file()]
    return list(dict.fromkeys(found))


def _why_not(error: Exception, repo_id: str, token: str | bool | None) -> str:
    """Say why a download failed."""
    from huggingface_hub import errors

    if isinstance(error, errors.LocalEntryNotFoundError):
        # Said of whatever kept the client from asking; an answer of the Hub says more.
        if not isinstance(error.__cause__, errors.HfHubHTTPError):
            return NOT_CACHED
        error = error.__cause__
    if isinstance(error, errors.RepositoryNotFoundError):
        other = _other_kind(repo_id, token)
        if other:
            return f"is a {other}, not a model; give the model's name"
    return reason_of(error, "read")


def _other_kind(repo_id: str, token: str | bool | None) -> str | None:
    """Return whether a dataset or Space has a name, None if none has or it cannot be told."""
    from huggingface_hub import HfApi

    for kind, called in (("dataset", "dataset"), ("space", "Space")):
        try:
            HfApi(token=token).repo_info(repo_id, repo_type=kind)
        except Exception:
            continue
        return called
    return None


def _discard_damaged(folder: Path) -> list[str]:
    """Delete the files of a download that are not what the cache calls them; return their names.

    The cache of the Hub's client names content by its hash, but the client does not check it.
    """
    damaged = []
    for path in sorted(folder.iterdir()):
        blob = path.resolve()
        named = path.is_symlink() and re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", blob.name)
        if named and content_id(blob, blob.name) != blob.name:
            damaged.append(path.name)
            blob.unlink()
            path.unlink()
    return damaged
