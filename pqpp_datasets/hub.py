"""Publishing an exported folder as a dataset on the Hub, in one commit: whole or not at all."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from pqpp_datasets.errors import BenchmarkError, MissingFileError
from pqpp_datasets.files import sha256_of
from pqpp_datasets.parquet_folder import MARK

# What an export may hold, which tells what an older one left behind from a user's own files.
_OURS = ("data/*.parquet", "data/*/*.parquet", "README.md", "croissant.json", "report.html")
_STATUS = {
    401: "needs an access token: run `hf auth login` or set HF_TOKEN",
    403: "may not be written with this token; use one with write permission for its owner",
    404: "does not exist or is private; check its name and the token",
    409: "was being changed by somebody else; try again",
    412: "was changed by somebody else meanwhile; look at it and try again",
    429: "cannot be used now, since there were too many requests; wait and try again",
}


class HubError(BenchmarkError):
    """The Hub cannot be reached or refuses; the message says why and what to do, and no token."""


@dataclass
class PushReport:
    """What a push did, or would do.

    Attributes:
        repo_id: The dataset.
        revision: The branch.
        dry_run: Whether nothing was written.
        new_repository: Whether the repository is made.
        new_branch: Whether the branch is made.
        added: Files that were not there.
        changed: Files that were there with other content.
        removed: Files of an older export.
        unchanged: How many files are there already.
        commit: The commit, None where there was nothing to do or in a dry run.
        url: Of the commit.
    """

    repo_id: str
    revision: str
    dry_run: bool
    new_repository: bool = False
    new_branch: bool = False
    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    unchanged: int = 0
    commit: str | None = None
    url: str | None = None

    def lines(self) -> list[str]:
        """Say what was done, a line a file."""
        lines = [f"new dataset {self.repo_id}"] * self.new_repository
        lines += [f"new branch {self.revision}"] * self.new_branch
        lines += [f"+ {path}" for path in self.added]
        lines += [f"~ {path}" for path in self.changed]
        lines += [f"- {path}" for path in self.removed]
        lines.append(f"{self.unchanged} file(s) unchanged")
        if self.dry_run:
            lines.append("dry run: nothing was written")
        elif self.commit is None:
            lines.append("nothing to do")
        return lines


def push_folder(
    folder: str | Path,
    repo_id: str,
    private: bool = False,
    revision: str | None = None,
    dry_run: bool = False,
    token: str | None = None,
) -> PushReport:
    """Publish a folder that `export` or `write_benchmark` wrote as a dataset on the Hub.

    The repository and the branch are made where they are missing. Files go up first and become
    visible with one commit, so that an interrupted push leaves the dataset as it was; when it is
    run again, what the Hub has already is not sent again. Files of an older export are removed,
    others in the repository stay.

    Args:
        folder: The folder.
        repo_id: `owner/name`.
        private: Make a new repository private; a public one that exists is then refused.
        revision: The branch; `main` if left out.
        dry_run: Only say what would change.
        token: With write permission; the stored one if left out. It is never shown or logged.

    Raises:
        MissingFileError: If the folder is not there or was not written by us.
        HubError: If the Hub cannot be reached or refuses.
    """
    from huggingface_hub import HfApi

    folder = Path(folder)
    if not (folder / MARK).is_file():
        raise MissingFileError(
            f"{folder}: no folder that was exported; write one by `pqpp datasets export` or "
            "`pqpp build`"
        )
    files = {p.relative_to(folder).as_posix(): p for g in _OURS for p in folder.glob(g)}
    push = _Push(HfApi(token=token, library_name="pqpp"), files)
    push.report = PushReport(repo_id, revision or "main", dry_run)
    push.look(private)
    if not dry_run:
        push.write(private)
    return push.report


class _Push:
    """One push: looks at what is there, then writes."""

    report: PushReport

    def __init__(self, api, files: dict[str, Path]):
        self.api, self.files, self.head = api, files, None

    def look(self, private: bool) -> None:
        """Find out what there is, without writing."""
        from huggingface_hub import errors

        report = self.report
        there: dict[str, object] = {}
        try:
            info = self.api.dataset_info(report.repo_id)
        except errors.RepositoryNotFoundError:
            self._call(self.api.whoami)  # without a token a private repository looks absent too
            report.new_repository = True
        except Exception as error:
            raise self._error(error) from None
        else:
            if private and not info.private:
                raise HubError(
                    f"{report.repo_id}: exists and is public; make it private in its settings first"
                )
            there = self._files_there()
        for path, file in sorted(self.files.items()):
            if path not in there:
                report.added.append(path)
            elif _same(there[path], file):
                report.unchanged += 1
            else:
                report.changed.append(path)
        ours = {path for path in there if _is_ours(path)}
        report.removed = sorted(ours - set(self.files) - {"README.md"})

    def _files_there(self) -> dict[str, object]:
        from huggingface_hub import errors

        report = self.report
        try:
            self.head = self.api.dataset_info(report.repo_id, revision=report.revision).sha
        except errors.RevisionNotFoundError:
            report.new_branch = True
            self.head = self._call(self.api.dataset_info, report.repo_id).sha
        except Exception as error:
            raise self._error(error) from None
        tree = self._call(
            lambda: list(
                self.api.list_repo_tree(
                    report.repo_id, recursive=True, revision=self.head, repo_type="dataset"
                )
            )
        )
        return {entry.path: entry for entry in tree if hasattr(entry, "blob_id")}

    def write(self, private: bool) -> None:
        """Make what is missing and commit what differs."""
        from huggingface_hub import CommitOperationAdd, CommitOperationDelete

        report, kind = self.report, {"repo_type": "dataset"}
        name = report.repo_id
        if report.new_repository:
            self._call(self.api.create_repo, name, private=private, **kind)
            report.new_branch = report.revision != "main"
        if report.new_branch:
            self._call(
                self.api.create_branch,
                report.repo_id,
                branch=report.revision,
                exist_ok=True,
                **kind,
            )
        operations = [
            CommitOperationAdd(path, str(self.files[path]))
            for path in (*report.added, *report.changed)
        ]
        operations += [CommitOperationDelete(path) for path in report.removed]
        if not operations:
            return
        done = self._call(
            self.api.create_commit,
            name,
            operations,
            commit_message="Upload a benchmark with pqpp",
            revision=report.revision,
            # Somebody else's commit in between is noticed instead of overwritten.
            parent_commit=self.head,
            **kind,
        )
        report.commit, report.url = done.oid, done.commit_url

    def _call(self, function: Callable, *arguments, **options):
        try:
            return function(*arguments, **options)
        except Exception as error:
            raise self._error(error) from None

    def _error(self, error: Exception) -> HubError:
        return HubError(f"{self.report.repo_id}: {reason_of(error)}")


def _is_ours(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return any(
        len(parts) == pattern.count("/") + 1 and PurePosixPath(path).match(pattern)
        for pattern in _OURS
    )


def _same(entry, file: Path) -> bool:
    """Tell whether a file on the Hub has the content of one here, by the digest that it gives."""
    lfs = getattr(entry, "lfs", None)
    if lfs is not None:
        return lfs.sha256 == sha256_of(file)
    content = file.read_bytes()
    # How git names a blob; not used as a safeguard.
    blob = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False)
    return entry.blob_id == blob.hexdigest()


def reason_of(error: Exception) -> str:
    """Return what went wrong with a repository and what to do, in fixed words.

    The client's own texts may hold request headers, and with them a token.

    Args:
        error: What the client raised.

    Example:
        >>> reason_of(ConnectionError("secret"))
        'cannot be reached; connect, and check HF_ENDPOINT and HF_HUB_OFFLINE'
    """
    from huggingface_hub import errors

    # What its upload threads raise comes wrapped.
    if isinstance(error, RuntimeError) and isinstance(error.__cause__, Exception):
        error = error.__cause__
    if isinstance(error, errors.HFValidationError):
        return "is not a valid repository name; write OWNER/NAME"
    if isinstance(error, errors.LocalTokenNotFoundError):
        return _STATUS[401]
    response = getattr(error, "response", None)
    said = response.headers.get("X-Error-Message", "") if response is not None else ""
    if "expired" in said:
        return "refuses the access token, which has expired; make a new one in your Hub settings"
    if "Invalid credentials" in said:
        return "refuses the access token, which is not valid; check it, or run `hf auth login`"
    if isinstance(error, errors.RepositoryNotFoundError):
        return _STATUS[404]
    if isinstance(error, errors.HfHubHTTPError) and response is not None:
        status = response.status_code
        return _STATUS.get(status, f"answers with an error ({status}); try again later")
    transports = {kind.__module__.split(".")[0] for kind in type(error).__mro__}
    if isinstance(error, ConnectionError) or transports & {"httpx", "httpx2", "requests"}:
        return "cannot be reached; connect, and check HF_ENDPOINT and HF_HUB_OFFLINE"
    if isinstance(error, ValueError) and "metadata" in str(error):
        return "refuses the card, since the metadata at the top of README.md is not valid"
    return f"could not be used ({type(error).__name__}); try again"
