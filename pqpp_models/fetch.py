"""Fetching a checkpoint from the Hugging Face Hub, or finding it in the cache."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from pqpp_files.hashes import content_id
from pqpp_hub.reasons import NOT_CACHED, reason_of
from pqpp_models.checkpoint import FILES
from pqpp_models.errors import CheckpointError


def fetch_checkpoint(
    repo_id: str,
    revision: str | None = None,
    cache_dir: str | None = None,
    token: str | bool | None = None,
    files: Sequence[str] = FILES,
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
