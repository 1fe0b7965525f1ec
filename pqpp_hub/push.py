"""Pushing files to a repository of the Hub in one commit: whole or not at all."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pqpp_files.errors import PqppError
from pqpp_files.hashes import content_id
from pqpp_files.names import is_repository_id
from pqpp_hub.reasons import ABSENT, reason_of

KINDS = {"model": "model", "dataset": "dataset", "space": "Space"}
_MAIN = "main"
_CARD, _UNNAMED = "README.md", b"FOLDER_OR_REPOSITORY"


class HubError(PqppError):
    """The Hub cannot be reached or refuses; the message says why and what to do, and no token."""


@dataclass(frozen=True)
class PushReport:
    """What a push did, or would do.

    Attributes:
        repo_id: The repository.
        revision: The branch.
        url: Where the repository is on the Hub.
        new_repository: Whether the repository was made, or would be.
        new_branch: Whether the branch was made, or would be.
        added: Files that were not there.
        changed: Files whose content differs.
        removed: Files of an older push that this one does not have.
        unchanged: Files that are the same already.
        commit: The commit's id; None if there was nothing to commit, or nothing was written.
        dry_run: Whether nothing was written.
        not_compared: Why it could not be seen what is there; all files are `added` then.
        pull_request: Where the pull request is that was opened, if any.
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
    not_compared: str | None = None
    pull_request: str | None = None

    def lines(self) -> list[str]:
        """Return the report as lines to print, one a file.

        Example:
            >>> PushReport("a/b", "main", "", True, False, ("x",), (), (), (), None, True).lines()
            ['would make the repository a/b', 'would add x', 'dry run: nothing was written']
        """
        made, files = ("would make", "would {}") if self.dry_run else ("made", "{}ed")
        lines = [f"{made} the repository {self.repo_id}"] if self.new_repository else []
        lines += [f"{made} the branch {self.revision}"] if self.new_branch else []
        verbs = {"push" if self.not_compared else "add": self.added}
        verbs |= {"change": self.changed, "remove": self.removed}
        for verb, names in verbs.items():
            done = files.format(verb).replace("eed", "ed")
            lines += [f"{done} {name}" for name in names]
        lines += [f"unchanged {name}" for name in self.unchanged]
        if self.dry_run:
            end = "dry run: nothing was written"
            if self.not_compared:
                end += f", nor compared with the Hub, which {self.not_compared}"
        elif self.pull_request:
            end = f"opened the pull request {self.pull_request}"
        elif self.commit:
            end = f"commit {self.commit} at {self.url}"
        else:
            end = f"nothing to do: {self.repo_id} has these files already"
        return [*lines, end]


def push_files(
    files: Mapping[str, Path],
    repo_id: str,
    kind: str,
    is_ours: Callable[[str], bool],
    message: str,
    private: bool = False,
    revision: str | None = None,
    dry_run: bool = False,
    token: str | None = None,
    list_name: str | None = None,
    pull_request: bool = False,
) -> PushReport:
    """Put files into a repository of the Hub, in one commit.

    The repository and the branch are made where they are missing. Content goes up first and becomes
    visible with the commit, so that a push that is interrupted leaves all files as they were. A
    push of what is there already makes no commit.

    Args:
        files: The path in the repository to the file here. A card that says FOLDER_OR_REPOSITORY
            names the repository there.
        repo_id: `OWNER/REPOSITORY`.
        kind: What the repository is, one of `KINDS`.
        is_ours: Tells of a path whether an older push can have written it: such a file that is
            not among `files` is removed, any other stays.
        message: What the commit says.
        private: Make a new repository private. A public one that exists is then refused.
        revision: The branch to push to, made from the main branch if missing; main if left out.
        dry_run: Only say what would change; nothing is written. Without a token or a network it is
            said what would be pushed.
        token: An access token with write permission; the stored one if left out. It is never
            shown, logged or kept.
        list_name: The path, in the repository, of a list of what was pushed. It is pushed along,
            and only files that the list of the older push names are removed: none where there is
            no list.
        pull_request: Open a pull request; the repository may be anybody's.

    Returns:
        What was done, or would be.

    Raises:
        HubError: The Hub cannot be reached or refuses.
    """
    require_repository_id(repo_id)
    with tempfile.TemporaryDirectory() as beside:
        sent = dict(files)
        if (card := sent.get(_CARD)) and _UNNAMED in (content := card.read_bytes()):
            sent[_CARD] = Path(beside, "card")
            sent[_CARD].write_bytes(content.replace(_UNNAMED, repo_id.encode()))
        if list_name is not None:
            sent[list_name] = Path(beside, "list")
            sent[list_name].write_bytes("".join(f"{name}\n" for name in sorted(files)).encode())
        push = _Push(repo_id, kind, revision or _MAIN, sent, token, private, pull_request)
        try:
            return push.run(is_ours, message, list_name, dry_run)
        except HubError:
            raise
        except Exception as refusal:
            # Texts of the client may hold request headers: only fixed sentences are shown.
            raise HubError(f"the Hub {KINDS[kind]} {repo_id!r} {reason_of(refusal)}") from None


def require_repository_id(repo_id: str) -> None:
    """Refuse what names no repository.

    >>> require_repository_id("mine")
    Traceback (most recent call last):
        ...
    pqpp_hub.push.HubError: 'mine' is not a valid repository name; write OWNER/REPOSITORY
    """
    if not is_repository_id(repo_id):
        raise HubError(f"{repo_id!r} is not a valid repository name; write OWNER/REPOSITORY")


@dataclass
class _Push:
    """One push: looks at what is there, then writes."""

    repo_id: str
    kind: str
    branch: str
    files: dict[str, Path]
    token: str | None
    private: bool
    as_request: bool
    new_repository: bool = False
    new_branch: bool = False
    head: str | None = None

    def run(
        self, is_ours: Callable[[str], bool], message: str, list_name: str | None, dry_run: bool
    ) -> PushReport:
        """Write what differs, or only say what does."""
        from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi

        api: Any = HfApi(token=self.token, library_name="pqpp")
        where = {"repo_id": self.repo_id, "repo_type": self.kind}
        commit = request = not_compared = None
        try:
            there = self.look(api, dry_run)
        except Exception as refusal:
            if not dry_run or isinstance(refusal, HubError):
                raise
            there, not_compared = {}, reason_of(refusal)
        older: Container[str] = there
        if list_name is not None:
            older = ()
            if list_name in there:
                listed = api.hf_hub_download(filename=list_name, revision=self.head, **where)
                older = Path(listed).read_text("utf-8", "replace").splitlines()
        removed = sorted(n for n in there if n not in self.files and n in older and is_ours(n))
        outcome: dict[str, list[str]] = {"added": [], "changed": [], "unchanged": []}
        for name, path in self.files.items():
            same = name in there and content_id(path, there[name]) == there[name]
            outcome["unchanged" if same else "changed" if name in there else "added"].append(name)
        sent = [*outcome["added"], *outcome["changed"]]
        if not dry_run:
            if self.new_repository:
                sdk = "static" if "index.html" in self.files else "gradio"
                about = {"space_sdk": sdk} if self.kind == "space" else {}
                api.create_repo(private=self.private, exist_ok=True, **where, **about)
            if self.new_branch:
                api.create_branch(branch=self.branch, exist_ok=True, **where)
            operations = [CommitOperationAdd(name, str(self.files[name])) for name in sent]
            if sent or removed:
                done = api.create_commit(
                    operations=[*operations, *map(CommitOperationDelete, removed)],
                    commit_message=message,
                    revision=self.branch,
                    parent_commit=self.head,  # refused if somebody has written since we looked
                    create_pr=self.as_request,
                    **where,
                )
                commit, request = done.oid, done.pr_url
        place = {"model": "", "dataset": "datasets/", "space": "spaces/"}[self.kind]
        return PushReport(
            self.repo_id,
            self.branch,
            f"{api.endpoint}/{place}{self.repo_id}",
            self.new_repository,
            self.new_branch,
            removed=tuple(removed),
            **{kind: tuple(names) for kind, names in outcome.items()},
            commit=commit,
            dry_run=dry_run,
            not_compared=not_compared,
            pull_request=request,
        )

    def look(self, api: Any, dry_run: bool) -> dict[str, str]:
        """Return the files of the branch, each with the name of its content."""
        from huggingface_hub import errors, get_token

        from pqpp_hub.pull import is_reachable

        if not is_reachable(api.endpoint):
            raise ConnectionError
        about = {"repo_id": self.repo_id, "repo_type": self.kind, "files_metadata": True}
        try:
            info = api.repo_info(**about)
        except errors.RepositoryNotFoundError as refusal:
            may_be_there = dry_run and not (self.token or get_token())
            if self.as_request or may_be_there or reason_of(refusal) != ABSENT:
                raise
            self.new_repository, self.new_branch = True, self.branch != _MAIN
            return {}
        if self.private and not info.private:
            raise HubError(
                f"the Hub {KINDS[self.kind]} {self.repo_id!r} exists and is public; make it "
                "private in its settings first"
            )
        if self.branch != _MAIN:
            try:
                info = api.repo_info(revision=self.branch, **about)
            except errors.RevisionNotFoundError:
                self.new_branch = True
        self.head = info.sha
        return {
            file.rfilename: file.lfs.sha256 if file.lfs else file.blob_id
            for file in info.siblings or []
        }
