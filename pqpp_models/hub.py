"""Fetching a predictor from the Hugging Face Hub, and pushing one to it."""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pqpp_models.checkpoint import CARD, CONFIG, EXTRA_FILES, WEIGHTS
from pqpp_models.errors import CheckpointError, HubError
from pqpp_models.hub_errors import other_kind, reason_of

if TYPE_CHECKING:
    import os

    from huggingface_hub import HfApi

    from pqpp_models.predictor import Predictor

# Only these are ever fetched, pushed or removed: no code, no pickle.
_FILES = (CONFIG, WEIGHTS, CARD, *EXTRA_FILES)
_MAIN = "main"


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

    What arrives damaged is downloaded once more, and refused if it is damaged again.

    Args:
        repo_id: ``owner/repository`` of a model on the Hub.
        revision: a branch, tag or commit; the main branch if left out.
        cache_dir: where downloads are kept; the Hub client's own place if left out.
        token: an access token for a private or gated repository, or ``True`` for the stored one.

    Returns:
        A folder with ``config.json``, ``README.md`` and, where the predictor has them,
        ``model.safetensors`` and the files of a tokenizer or processor.

    Raises:
        CheckpointError: the repository or revision does not exist or may not be read, the Hub
            cannot be reached and nothing is cached, or what arrives is damaged. The token is
            never in the message.
    """
    from huggingface_hub import errors, snapshot_download

    at = f" at revision {revision!r}" if revision else ""
    where = {"revision": revision, "cache_dir": cache_dir, "token": token}
    where["allow_patterns"] = list(_FILES)
    try:
        folder = Path(snapshot_download(repo_id, **where))
        if _damaged(folder):
            folder = Path(snapshot_download(repo_id, force_download=True, **where))
        damaged = _damaged(folder)
        if not damaged:
            return folder
        reason = f"arrived damaged ({damaged}); delete {folder} and try again"
    except errors.LocalEntryNotFoundError:
        reason = "is not in the cache and the Hub cannot be reached; connect, or give a folder"
    except Exception as error:
        reason = reason_of(error)
        if isinstance(error, errors.RepositoryNotFoundError):
            other = other_kind(repo_id, token)
            reason = f"is a {other}, not a model; give the model's name" if other else reason
    raise CheckpointError(f"the Hub repository {repo_id!r}{at} {reason}")


@dataclass(frozen=True)
class PushReport:
    """What a push did, or would do.

    Attributes:
        repo_id: the repository.
        revision: the branch.
        url: where the repository is on the Hub.
        new_repository: whether the repository was made, or would be.
        new_branch: whether the branch was made, or would be.
        added: files that were not there.
        changed: files whose content differs.
        removed: files of an older checkpoint that this one does not have.
        unchanged: files that are the same already.
        commit: the commit's id; ``None`` if there was nothing to commit, or nothing was written.
        dry_run: whether nothing was written.
    """

    repo_id: str
    revision: str
    url: str
    new_repository: bool
    new_branch: bool
    added: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    unchanged: tuple[str, ...]
    commit: str | None
    dry_run: bool

    def lines(self) -> list[str]:
        """Return the report as lines to print, one a file.

        >>> PushReport("a/b", "main", "", True, False, ("x",), (), (), (), None, True).lines()
        ['would make the repository a/b', 'would add x']
        """
        would = "would " if self.dry_run else ""
        new = [
            f"{would}{'make' if would else 'made'} the {what}"
            for what, made in (
                (f"repository {self.repo_id}", self.new_repository),
                (f"branch {self.revision}", self.new_branch),
            )
            if made
        ]
        verbs = {
            "added": "add",
            "changed": "change",
            "removed": "remove",
        }
        files = [
            f"{would}{verb if would else done} {file}"
            for done, verb in verbs.items()
            for file in getattr(self, done)
        ]
        return [*new, *files, *(f"unchanged {file}" for file in self.unchanged)]


def push_to_hub(
    predictor: Predictor | str | os.PathLike[str],
    repo_id: str,
    private: bool = False,
    revision: str | None = None,
    dry_run: bool = False,
    token: str | None = None,
    commit_message: str | None = None,
) -> PushReport:
    """Publish a predictor as a model on the Hub, in one commit.

    The repository and the branch are made where they are missing. Only a checkpoint's files are
    pushed, and only such files of an older checkpoint are removed; others in the repository stay.
    The predictor is loaded first, so that nothing unusable is published. A push of what is there
    already makes no commit; one that fails leaves all files as they were.

    Args:
        predictor: a predictor, a folder written by ``save_pretrained``, or a shipped name.
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
        CheckpointError: the folder holds no usable predictor.
        HubError: the Hub cannot be reached or refuses; one line says why and what to do.
    """
    if not is_repository_id(repo_id):
        raise HubError(f"{repo_id!r} is not a valid repository name; write OWNER/REPOSITORY")
    from huggingface_hub import HfApi

    with _checkpoint_folder(predictor) as folder:
        files = {name: folder / name for name in _FILES if (folder / name).is_file()}
        push = _Push(HfApi(token=token, library_name="pqpp"), repo_id, revision or _MAIN, files)
        push.look(private)
        if not dry_run:
            push.write(private, commit_message or "Upload a predictor with pqpp")
        return push.report(dry_run)


class _Push:
    """One push: looks at what is there, then writes."""

    def __init__(self, api: HfApi, repo_id: str, revision: str, files: Mapping[str, Path]) -> None:
        self.api, self.repo_id, self.revision, self.files = api, repo_id, revision, files
        self.new_repository = self.new_branch = False
        self.head: str | None = None
        self.commit: str | None = None
        self.there: dict[str, str] = {}

    def look(self, private: bool) -> None:
        """Find out what is there, without writing."""
        from huggingface_hub import errors

        who = self._call(self.api.whoami)
        if ((who.get("auth") or {}).get("accessToken") or {}).get("role") == "read":
            raise self._error("cannot be written with this token, which may only read")
        try:
            info = self.api.model_info(self.repo_id, files_metadata=True)
        except errors.RepositoryNotFoundError:
            self._may_be_made(who)
            return
        except Exception as error:
            raise self._error(reason_of(error)) from None
        if private and not info.private:
            raise self._error("exists and is public; make it private in its settings first")
        self._look_at_branch(info)

    def _may_be_made(self, who: Mapping[str, Any]) -> None:
        owner = self.repo_id.split("/")[0]
        if owner not in (who.get("name"), *(one.get("name") for one in who.get("orgs") or [])):
            raise self._error(
                f"does not exist, or is private and not yours, and this token may not write to "
                f"{owner!r}; check the name, or use a token of its owner"
            )
        other = other_kind(self.repo_id, self.api.token)
        if other:
            raise self._error(
                f"is a {other}, not a model; choose another name, or make the model by hand first"
            )
        self.new_repository = True
        self.new_branch = self.revision != _MAIN

    def _look_at_branch(self, info: Any) -> None:
        refs = self._call(self.api.list_repo_refs, self.repo_id)
        heads = {branch.name: branch.target_commit for branch in refs.branches}
        if self.revision in heads:
            if self.revision != _MAIN:
                info = self._call(
                    self.api.model_info,
                    self.repo_id,
                    revision=self.revision,
                    files_metadata=True,
                )
        elif self.revision in {tag.name for tag in refs.tags} or _is_commit(self.revision):
            raise self._error(f"has {self.revision!r} as a tag or commit; name a branch to push to")
        else:
            self.new_branch = True
        self.head = info.sha
        for file in info.siblings or []:
            self.there[file.rfilename] = file.lfs.sha256 if file.lfs else file.blob_id

    def write(self, private: bool, message: str) -> None:
        """Make what is missing and commit what differs."""
        from huggingface_hub import CommitOperationAdd, CommitOperationDelete

        if self.new_repository:
            self._call(self.api.create_repo, self.repo_id, private=private, exist_ok=True)
        if self.new_branch:
            self._call(self.api.create_branch, self.repo_id, branch=self.revision, exist_ok=True)
        changed = [*self._those("added"), *self._those("changed")]
        operations: list[Any] = [CommitOperationAdd(name, self.files[name]) for name in changed]
        operations += [CommitOperationDelete(name) for name in self._those("removed")]
        if operations:
            done = self._call(
                self.api.create_commit,
                self.repo_id,
                operations,
                commit_message=message,
                revision=self.revision,
                # Refused if somebody else has written since we looked.
                parent_commit=self.head,
            )
            self.commit = done.oid

    def report(self, dry_run: bool) -> PushReport:
        """Say what was found and done."""
        url = f"{self.api.endpoint}/{self.repo_id}"
        kinds = ("added", "changed", "removed", "unchanged")
        files = {kind: tuple(self._those(kind)) for kind in kinds}
        new = {"new_repository": self.new_repository, "new_branch": self.new_branch}
        return PushReport(
            self.repo_id, self.revision, url, commit=self.commit, dry_run=dry_run, **new, **files
        )

    def _those(self, kind: str) -> list[str]:
        if kind == "removed":
            return [name for name in _FILES if name in self.there and name not in self.files]
        return [name for name in self.files if self._kind(name) == kind]

    def _kind(self, name: str) -> str:
        if name not in self.there:
            return "added"
        same = _content_id(self.files[name], self.there[name]) == self.there[name]
        return "unchanged" if same else "changed"

    def _call(self, function: Callable[..., Any], *arguments: Any, **details: Any) -> Any:
        try:
            return function(*arguments, **details)
        except Exception as error:
            # Texts of the client may hold request headers: only fixed sentences are shown.
            raise self._error(reason_of(error)) from None

    def _error(self, reason: str) -> HubError:
        return HubError(f"the Hub repository {self.repo_id!r} {reason}")


@contextmanager
def _checkpoint_folder(predictor: Any) -> Iterator[Path]:
    """Give the folder of a predictor that has been loaded from it, to be sure that it can be."""
    from pqpp_models import registry
    from pqpp_models.predictor import Predictor

    named = isinstance(predictor, str) and predictor in registry.PREDICTORS
    if not named and not isinstance(predictor, Predictor):
        folder = Path(predictor).expanduser()
        if not folder.is_dir():
            raise CheckpointError(f"there is no folder {folder}; save the predictor first")
        Predictor.from_pretrained(folder)
        yield folder
        return
    loaded = Predictor.from_pretrained(predictor) if named else predictor
    with tempfile.TemporaryDirectory() as beside:
        folder = loaded.save_pretrained(Path(beside) / "checkpoint")
        Predictor.from_pretrained(folder)
        yield folder


def _content_id(path: Path, like: str) -> str:
    """Name content as the Hub names it: by sha256 where ``like`` is one, else as git does."""
    content = path.read_bytes()
    if len(like) == 64:
        return hashlib.sha256(content).hexdigest()
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _damaged(folder: Path) -> str | None:
    """Return the name of a file that is not what the cache calls it, None if all are.

    The cache of the Hub's client names content by its hash, but the client does not check it.
    Weights are checked again when they are read, against the configuration.
    """
    for path in sorted(folder.iterdir()):
        name = path.resolve().name
        named = path.is_symlink() and re.fullmatch(r"[0-9a-f]{40}", name)
        if named and _content_id(path, name) != name:
            return path.name
    return None


def _is_commit(revision: str) -> bool:
    return re.fullmatch(r"[0-9a-f]{40}", revision) is not None
