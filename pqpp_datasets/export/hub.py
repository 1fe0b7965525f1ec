"""Publishing an exported folder as a dataset on the Hub, in one commit: whole or not at all."""

from pathlib import Path, PurePosixPath
from typing import Any

from pqpp_datasets.errors import DataFileError
from pqpp_datasets.export.parquet_folder import (
    MARK,
    PATTERNS,
    card_data,
    files_listed,
    files_of_ours,
)
from pqpp_hub import PushReport, push_files


def push_folder(folder: str | Path, repo_id: str, **options: Any) -> PushReport:
    """Publish a folder that `export` or `write_benchmark` wrote as a dataset on the Hub.

    Files that an older push lists as its own in the repository are removed, others stay.

    Args:
        folder: The folder.
        repo_id: `OWNER/REPOSITORY`.
        options: `private`, `revision`, `dry_run` and `token` of `pqpp_hub.push_files`.

    Raises:
        DataFileError: If the folder is not there or was not written by us.
        DataFileError: If its files are not those that were written.
        HubError: If the Hub cannot be reached or refuses.
    """
    folder = Path(folder)
    if not (folder / MARK).is_file():
        raise DataFileError(
            f"{folder}: no folder that was exported; write one by `pqpp datasets export` or "
            "`pqpp build`"
        )
    names = files_of_ours(folder)
    listed = set(files_listed(folder))
    wrong = [f"{name} is missing" for name in sorted(listed - set(names))]
    wrong += [f"{name} was not written by the export" for name in sorted(set(names) - listed)]
    if wrong:
        raise DataFileError(f"{folder}: {wrong[0]}, so the card does not hold; export again")
    if not card_data(folder).get("license"):
        raise DataFileError(
            f"{folder}: its card names no licence, without which nobody may use the data; build it "
            "again with --license KEY, like cc-by-4.0"
        )
    files = {name: folder / name for name in names}
    message = "Upload a benchmark with pqpp"
    return push_files(files, repo_id, "dataset", _is_ours, message, list_name=MARK, **options)


# A user's own files may be named like an export's, so what an older export left behind is known by
# the list that each push leaves in the repository, under the name of our mark. A card is replaced,
# never removed.
def _is_ours(path: str) -> bool:
    depth = path.count("/")
    return any(depth == p.count("/") and PurePosixPath(path).match(p) for p in PATTERNS)
