"""Pushing files to a repository of the Hub in one commit: whole or not at all."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pqpp_files.errors import PqppError
from pqpp_files.hashes import content_id
from pqpp_files.names import did_you_mean, is_repository_id
from pqpp_hub.reasons import reason_of

if TYPE_CHECKING:
    from huggingface_hub import HfApi

KINDS = {"model": "model", "dataset": "dataset", "space": "Space"}
_MAIN = "main"
_TRIES = 3
_CARD, _UNNAMED = "README.md", b"FOLDER_OR_REPOSITORY"
_COMMIT = re.compile(r"[0-9a-f]{40}")


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
        would = "would " if self.dry_run else ""
        new = [
            f"{would}{'make' if would else 'made'} the {what}"
            for what, made in (
                (f"repository {self.repo_id}", self.new_repository),
                (f"branch {self.revision}", self.new_branch),
            )
            if made
        ]
        verbs = {"added": "add", "changed": "change", "removed": "remove"}
        if self.not_compared:
            verbs["added"] = "push"
        files = [
            f"{would}{verb if would else done} {file}"
            for done, verb in verbs.items()
            for file in getattr(self, done)
        ]
        if self.dry_run:
            end = "dry run: nothing was written"
            if self.not_compared:
                end += f", nor compared with the Hub: {self.not_compared}"
        elif self.pull_request:
            end = f"opened the pull request {self.pull_request}"
        elif self.commit:
            end = f"commit {self.commit} at {self.url}"
        else:
            end = f"nothing to do: {self.repo_id} has these files already"
        return [*new, *files, *(f"unchanged {file}" for file in self.unchanged), end]


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
    visible with the commit, so that a push that is interrupted leaves all files as they were; when
    it is run again, what the Hub has already is not sent again. A push of what is there already
    makes no commit.

    Small files travel without a checksum. So the commit is looked at, and what arrived altered is
    sent again with a further commit, twice at most; after that, or when the commit cannot be looked
    at, the error says which commit is live.

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

    Returns:
        What was done, or would be.

    Raises:
        HubError: If the Hub cannot be reached or refuses, or `kind` is unknown. Nothing has changed
            then, unless it names a commit that is live, or the answer to a commit was lost; pushing
            again puts either right.
    """
    require_repository_id(repo_id)
    if kind not in KINDS:
        raise HubError(f"{kind!r} is not a kind of repository; {did_you_mean(kind, KINDS)}")
    if revision is not None and not revision.strip():
        raise HubError(
            f"{revision!r} is not a branch; name one, or leave the revision out for {_MAIN}"
        )
    from huggingface_hub import HfApi

    api = HfApi(token=token, library_name="pqpp")
    with tempfile.TemporaryDirectory() as beside:
        place = Path(beside)
        sent = dict(files)
        if (card := sent.get(_CARD)) and _UNNAMED in (content := card.read_bytes()):
            sent[_CARD] = place / "card"
            sent[_CARD].write_bytes(content.replace(_UNNAMED, repo_id.encode()))
        if list_name is not None:
            sent[list_name] = place / "list"
            sent[list_name].write_bytes("".join(f"{name}\n" for name in sorted(files)).encode())
        push = _Push(api, repo_id, kind, revision or _MAIN, sent, pull_request)
        push.look(private, is_ours, list_name, place, dry_run)
        if not dry_run:
            push.write(private, message)
        return push.report(dry_run)


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

    api: HfApi
    repo_id: str
    kind: str
    revision: str
    files: dict[str, Path]
    as_request: bool = False
    opened: str | None = None
    new_repository: bool = False
    new_branch: bool = False
    head: str | None = None
    commit: str | None = None
    outcome: dict[str, list[str]] = field(
        default_factory=lambda: {n: [] for n in ("added", "changed", "removed", "unchanged")}
    )
    not_compared: str | None = None

    def look(
        self,
        private: bool,
        is_ours: Callable[[str], bool],
        list_name: str | None,
        place: Path,
        dry_run: bool,
    ) -> None:
        """Find out what is there, without writing but into a folder of its own."""
        from huggingface_hub import errors, get_token

        from pqpp_hub.pull import is_reachable

        is_there = is_reachable(self.api.endpoint)
        if not is_there and not dry_run:
            raise self._error(reason_of(ConnectionError()))
        is_known = bool(self.api.token or get_token())
        if dry_run and not (is_there and (is_known or self._is_public())):
            self.outcome["added"] = list(self.files)
            reason = f"{self.repo_id} is not there, or is private, and there is no access token"
            self.not_compared = reason if is_there else "it cannot be reached"
            return
        account = self._call(self.api.whoami) if is_known or not dry_run else {}
        if ((account.get("auth") or {}).get("accessToken") or {}).get("role") == "read":
            raise self._error("cannot be written with this token, which may only read")
        there: dict[str, str] = {}
        try:
            info = self.api.repo_info(self.repo_id, repo_type=self.kind, files_metadata=True)
        except errors.RepositoryNotFoundError as refusal:
            if "expired" in reason_of(refusal):
                raise self._error(reason_of(refusal)) from None
            self._may_be_made(account)
        except Exception as refusal:
            raise self._error(reason_of(refusal)) from None
        else:
            if private and not info.private:
                raise self._error("exists and is public; make it private in its settings first")
            there = self._look_at_branch(info)
        if list_name is None:
            self._compare(there, is_ours)
            return
        listed = self._listed(there, list_name, place) if list_name in there else set()
        self._compare(there, lambda name: name in listed and is_ours(name))

    def _is_public(self) -> bool:
        try:
            self.api.repo_info(self.repo_id, repo_type=self.kind)
        except Exception:
            return False
        return True

    def _listed(self, there: Mapping[str, str], list_name: str, place: Path) -> set[str]:
        """Return the paths that the list of the older push names."""
        for _ in range(_TRIES):
            where = {"revision": self.head, "local_dir": place / "older"}
            path = Path(self._ask("hf_hub_download", list_name, force_download=True, **where))
            if content_id(path, there[list_name]) == there[list_name]:
                return set(path.read_bytes().decode("utf-8", "replace").splitlines())
        raise self._error(f"sends {list_name} damaged again and again; try again later")

    def _may_be_made(self, account: Mapping[str, Any]) -> None:
        owner = self.repo_id.split("/")[0]
        if self.as_request:
            raise self._error("does not exist or is private; check its name, or give a token")
        if owner not in (
            account.get("name"),
            *(org.get("name") for org in account.get("orgs") or []),
        ):
            raise self._error(
                "does not exist, or is private and not yours, and this token may not write to "
                f"{owner!r}; check the name, or use a token of its owner"
            )
        self.new_repository = True
        self.new_branch = self.revision != _MAIN

    def _look_at_branch(self, info: Any) -> dict[str, str]:
        """Return the files of the branch as `_contents` does."""
        refs = self._ask("list_repo_refs")
        if self.revision in {branch.name for branch in refs.branches}:
            if self.revision != _MAIN:
                info = self._info(self.revision)
        elif self.revision in {tag.name for tag in refs.tags} or _COMMIT.fullmatch(self.revision):
            raise self._error(f"has {self.revision!r} as a tag or commit; name a branch to push to")
        else:
            self.new_branch = True
        self.head = info.sha
        return _contents(info)

    def _info(self, revision: str) -> Any:
        return self._ask("repo_info", revision=revision, files_metadata=True)

    def _compare(self, there: Mapping[str, str], is_ours: Callable[[str], bool]) -> None:
        for name in self.files:
            same = self._is_as_sent(name, there)
            kind = "unchanged" if same else "changed" if name in there else "added"
            self.outcome[kind].append(name)
        self.outcome["removed"] = sorted(n for n in there if n not in self.files and is_ours(n))

    def _is_as_sent(self, name: str, there: Mapping[str, str]) -> bool:
        return name in there and content_id(self.files[name], there[name]) == there[name]

    def write(self, private: bool, message: str) -> None:
        """Make what is missing and commit what differs."""
        from huggingface_hub import CommitOperationDelete

        if self.new_repository:
            sdk = "static" if "index.html" in self.files else "gradio"
            about = {"space_sdk": sdk} if self.kind == "space" else {}
            self._ask("create_repo", private=private, exist_ok=True, **about)
        if self.new_branch:
            self._ask("create_branch", branch=self.revision, exist_ok=True)
        changed = [*self.outcome["added"], *self.outcome["changed"]]
        removed = [CommitOperationDelete(name) for name in self.outcome["removed"]]
        if not changed and not removed:
            return
        self._commit(changed, removed, message)
        altered = self._altered(changed)
        for _ in range(_TRIES - 1):
            if not altered:
                return
            try:
                self._commit(altered, [], f"{message}: what arrived altered, again")
            except HubError:
                break
            altered = self._altered(altered)
        if altered:
            raise self._error(
                f"now holds {', '.join(altered[:3])} otherwise than sent: commit {self.commit} is "
                "live; push again, or revert that commit"
            )

    def _commit(self, names: list[str], others: list[Any], message: str) -> None:
        from huggingface_hub import CommitOperationAdd

        done = self._ask(
            "create_commit",
            [*(CommitOperationAdd(name, str(self.files[name])) for name in names), *others],
            commit_message=message,
            revision=self.revision,
            # Refused if somebody else has written since we looked.
            parent_commit=self.commit or self.head,
            create_pr=self.as_request,
        )
        self.commit = done.oid
        if done.pr_url:  # what follows goes into the same one
            self.as_request, self.revision, self.opened = False, done.pr_revision, done.pr_url

    def _altered(self, names: list[str]) -> list[str]:
        """Return which files are not in our commit as they were sent."""
        try:
            there = _contents(self._info(self.commit or self.revision))
        except HubError:
            raise self._error(
                f"now has commit {self.commit}, which is live but could not be checked; push "
                "again, which checks it"
            ) from None
        return [name for name in names if not self._is_as_sent(name, there)]

    def report(self, dry_run: bool) -> PushReport:
        """Say what was found and done."""
        place = {"model": "", "dataset": "datasets/", "space": "spaces/"}[self.kind]
        return PushReport(
            self.repo_id,
            self.revision,
            f"{self.api.endpoint}/{place}{self.repo_id}",
            self.new_repository,
            self.new_branch,
            **{kind: tuple(names) for kind, names in self.outcome.items()},
            commit=self.commit,
            dry_run=dry_run,
            not_compared=self.not_compared,
            pull_request=self.opened,
        )

    def _ask(self, method: str, *arguments: Any, **details: Any) -> Any:
        """Return what the Hub's client answers of the repository."""
        function = getattr(self.api, method)
        return self._call(function, self.repo_id, *arguments, repo_type=self.kind, **details)

    def _call(self, function: Callable[..., Any], *arguments: Any, **details: Any) -> Any:
        try:
            return function(*arguments, **details)
        except Exception as refusal:
            # Texts of the client may hold request headers: only fixed sentences are shown.
            raise self._error(reason_of(refusal)) from None

    def _error(self, reason: str) -> Exception:
        return HubError(f"the Hub {KINDS[self.kind]} {self.repo_id!r} {reason}")


def _contents(info: Any) -> dict[str, str]:
    """Return the files of a repository, each with the name of its content."""
    return {
        file.rfilename: file.lfs.sha256 if file.lfs else file.blob_id
        for file in info.siblings or []
    }
