"""Push files to a repository of the Hub in one commit, completely or not at all."""

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pqpp_files.errors import PqppError
from pqpp_files.names import is_repository_id
from pqpp_hub.pull import is_reachable
from pqpp_hub.reasons import ABSENT, describe_error

KINDS = {"model": "model", "dataset": "dataset", "space": "Space"}
_MAIN = "main"
_CARD, _UNNAMED = "README.md", b"FOLDER_OR_REPOSITORY"


class HubError(PqppError):
    """The Hub cannot be reached, or refuses a request; the message never contains a token."""


@dataclass
class PushReport:
    """The changes that a push made or, in a dry run, would make.

    Attributes:
        url: The repository's address.
        dry_run: Whether nothing was written.
        new_repository: Whether the push creates the repository.
        new_branch: Whether the push creates the branch.
        added: New files.
        changed: Files with other content than before.
        removed: Files of an older push that this one does not have.
        unchanged: Files with the same content as before.
        commit: The commit's id; None if nothing was committed.
        not_compared: Why the existing files are unknown, if they are; all files are then `added`.
        pull_request: The address of the pull request, if one was opened.
    """

    repo_id: str
    revision: str
    url: str
    dry_run: bool = False
    new_repository: bool = False
    new_branch: bool = False
    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    commit: str | None = None
    not_compared: str | None = None
    pull_request: str | None = None

    def to_lines(self) -> list[str]:
        """Return the lines to print: a new repository or branch, each file, and the outcome.

        Example:
            >>> PushReport("a/b", "main", "", True, True, added=["x"]).to_lines()
            ['would create the repository a/b', 'would add x', 'dry run: nothing was written']
        """
        created, pattern = ("would create", "would {}") if self.dry_run else ("created", "{}ed")
        lines = [f"{created} the repository {self.repo_id}"] if self.new_repository else []
        lines += [f"{created} the branch {self.revision}"] if self.new_branch else []
        verbs = {"push" if self.not_compared else "add": self.added}
        verbs |= {"change": self.changed, "remove": self.removed}
        for verb, names in verbs.items():
            lines += [f"{pattern.format(verb).replace('eed', 'ed')} {name}" for name in names]
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
    files: Mapping[str, Path | bytes],
    repo_id: str,
    kind: str,
    is_managed: Callable[[str], bool],
    message: str,
    private: bool = False,
    revision: str | None = None,
    dry_run: bool = False,
    token: str | None = None,
    list_name: str | None = None,
    pull_request: bool = False,
) -> PushReport:
    """Push files to a repository on the Hub in one commit.

    The repository and the branch are created if they do not exist. Files become visible with the
    commit, so an interrupted push changes nothing. If all files are unchanged, there is no commit.

    Args:
        files: Local files or contents, by path in the repository. In README.md,
            FOLDER_OR_REPOSITORY is replaced with `repo_id`.
        repo_id: `OWNER/REPOSITORY`.
        kind: The repository's type, one of `KINDS`.
        is_managed: A function that returns whether an older push may have written a path. Such
            files are removed if they are not in `files`.
        private: Whether to make a new repository private, and to refuse an existing public one.
        revision: The branch, which is created from main if it does not exist; default: main.
        dry_run: Whether to report the changes without making them.
        token: An access token with write permission; default: the stored one.
        list_name: The path of a list of the pushed files, to push too. Then only files on the
            list of the older push are removed.
        pull_request: Whether to open a pull request, for a repository of another owner.

    Returns:
        A report of the changes, or with `dry_run` of those that would be made.

    Raises:
        HubError: The Hub cannot be reached, or refuses the push.
    """
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi, get_token
    from huggingface_hub.utils.sha import git_hash

    require_repository_id(repo_id)
    contents = dict(files)
    if card := contents.get(_CARD):
        text = card if isinstance(card, bytes) else card.read_bytes()
        contents[_CARD] = text.replace(_UNNAMED, repo_id.encode())
    if list_name is not None:
        contents[list_name] = "".join(f"{name}\n" for name in sorted(files)).encode()
    api: Any = HfApi(token=token, library_name="pqpp")
    where = {"repo_id": repo_id, "repo_type": kind}
    url = f"{api.endpoint}/{'' if kind == 'model' else f'{kind}s/'}{repo_id}"
    report = PushReport(repo_id, revision or _MAIN, url, dry_run)
    try:
        parent, existing = None, dict[str, str]()
        try:
            may_create = not (pull_request or (dry_run and not (token or get_token())))
            parent, existing = _read_branch_files(api, report, kind, private, may_create)
        except Exception as refusal:
            if not dry_run or isinstance(refusal, HubError):
                raise
            report.not_compared = describe_error(refusal)
        removable: Container[str] = existing
        if list_name is not None:
            removable = ()
            if list_name in existing:
                list_path = api.hf_hub_download(filename=list_name, revision=parent, **where)
                removable = Path(list_path).read_text("utf-8", "replace").splitlines()
        stale = (name for name in existing if name not in contents and name in removable)
        report.removed = sorted(filter(is_managed, stale))
        operations = []
        for name, content in contents.items():
            data = content if isinstance(content, bytes) else str(content)
            operation = CommitOperationAdd(name, data)
            old, new = existing.get(name), ""
            if old is not None and len(old) == 64:  # a SHA-256, else the hash of a git object
                new = operation.upload_info.sha256.hex()
            elif old is not None:
                with operation.as_file() as file:
                    new = git_hash(file.read())
            if new == old:
                report.unchanged.append(name)
                continue
            (report.changed if name in existing else report.added).append(name)
            operations.append(operation)
        if dry_run:
            return report
        if report.new_repository:
            sdk = "static" if "index.html" in contents else "gradio"
            options = {"space_sdk": sdk} if kind == "space" else {}
            api.create_repo(private=private, exist_ok=True, **where, **options)
        if report.new_branch:
            api.create_branch(branch=report.revision, exist_ok=True, **where)
        if operations or report.removed:
            commit = api.create_commit(
                operations=[*operations, *map(CommitOperationDelete, report.removed)],
                commit_message=message,
                revision=report.revision,
                parent_commit=parent,  # refused if the branch has changed since it was read
                create_pr=pull_request,
                **where,
            )
            report.commit, report.pull_request = commit.oid, commit.pr_url
        return report
    except HubError:
        raise
    except Exception as refusal:
        # The client's messages may contain request headers, so only fixed sentences are shown.
        raise HubError(f"the Hub {KINDS[kind]} {repo_id!r} {describe_error(refusal)}") from None


def require_repository_id(repo_id: str) -> None:
    """Check that a repository name has the form `OWNER/REPOSITORY`.

    >>> require_repository_id("mine")
    Traceback (most recent call last):
        ...
    pqpp_hub.push.HubError: 'mine' is not a valid repository name; write OWNER/REPOSITORY
    """
    if not is_repository_id(repo_id):
        raise HubError(f"{repo_id!r} is not a valid repository name; write OWNER/REPOSITORY")


def _read_branch_files(
    api: Any, report: PushReport, kind: str, private: bool, may_create: bool
) -> tuple[str | None, dict[str, str]]:
    """Return the branch's last commit and hashes by path; record in the report what is new."""
    from huggingface_hub import errors

    if not is_reachable(api.endpoint):
        raise ConnectionError
    options = {"repo_id": report.repo_id, "repo_type": kind, "files_metadata": True}
    try:
        info = api.repo_info(**options)
    except errors.RepositoryNotFoundError as refusal:
        if not may_create or describe_error(refusal) != ABSENT:
            raise
        report.new_repository, report.new_branch = True, report.revision != _MAIN
        return None, {}
    if private and not info.private:
        raise HubError(
            f"the Hub {KINDS[kind]} {report.repo_id!r} exists and is public; make it private in "
            "its settings, or omit `private`"
        )
    if report.revision != _MAIN:
        try:
            info = api.repo_info(revision=report.revision, **options)
        except errors.RevisionNotFoundError:
            report.new_branch = True
    files = info.siblings or []
    return info.sha, {f.rfilename: f.lfs.sha256 if f.lfs else f.blob_id for f in files}
