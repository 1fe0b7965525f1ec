"""Fetching a predictor from the Hugging Face Hub."""

from __future__ import annotations

import re
from pathlib import Path

from pqpp_models.errors import CheckpointError

# Only these are ever fetched: no code, no pickle.
_PATTERNS = ["config.json", "model.safetensors", "README.md"]


def is_repository_id(name: str) -> bool:
    """Tell whether a name has the form ``owner/repository``.

    >>> is_repository_id("someone/pqpp-lexical"), is_repository_id("lexical")
    (True, False)
    """
    part = r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?"
    return re.fullmatch(f"{part}/{part}", name) is not None


def fetch_checkpoint(
    repo_id: str,
    revision: str | None = None,
    cache_dir: str | None = None,
    token: str | bool | None = None,
) -> Path:
    """Download a predictor's files, or find them in the cache, and return their folder.

    Args:
        repo_id: ``owner/repository`` of a model on the Hub.
        revision: a branch, tag or commit; the main branch if left out.
        cache_dir: where downloads are kept; the Hub client's own place if left out.
        token: an access token for a private or gated repository, or ``True`` for the stored one.

    Returns:
        A folder with ``config.json``, ``model.safetensors`` and ``README.md``.

    Raises:
        CheckpointError: the repository or revision does not exist or may not be read, or the Hub
            cannot be reached and nothing is cached. The token is never in the message.
    """
    from huggingface_hub import errors, snapshot_download

    at = f" at revision {revision!r}" if revision else ""
    try:
        return Path(
            snapshot_download(
                repo_id,
                revision=revision,
                cache_dir=cache_dir,
                token=token,
                allow_patterns=_PATTERNS,
            )
        )
    except errors.GatedRepoError:
        reason = "is gated; ask for access on its page and give a token"
    except errors.RepositoryNotFoundError:
        reason = "does not exist or is private; check its name, or give a token"
    except errors.RevisionNotFoundError:
        reason = "does not exist; check the revision"
    except (errors.LocalEntryNotFoundError, errors.OfflineModeIsEnabled, ConnectionError):
        reason = "is not in the cache and the Hub cannot be reached; connect, or give a folder"
    except errors.HFValidationError:
        reason = "is not a valid repository name; write OWNER/REPOSITORY"
    except Exception as error:
        # The client's transport has changed its own exceptions from release to release; their
        # text may hold request headers, so only the class is told.
        reason = f"could not be fetched ({type(error).__name__}); try again, or give a folder"
    raise CheckpointError(f"the Hub repository {repo_id!r}{at} {reason}")
