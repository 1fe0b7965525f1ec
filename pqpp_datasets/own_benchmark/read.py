"""Reading a benchmark that is none of this package's: a folder, or a repository of the Hub."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def read_own(place: str, subset: str | None = None, **options: Any) -> Any:
    r"""Return what `datasets` reads of a folder as it is now, or of a repository.

    Args:
        place: The folder, or OWNER/REPOSITORY; without the Hub, what is in its cache.
        subset: Its configuration.
        options: What `load_dataset` takes.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> _ = (folder / "train.csv").write_text("prompt\na red cat\n")
        >>> read_own(str(folder), split="train")["prompt"][:]
        ['a red cat']
    """
    import datasets

    from pqpp_hub.pull import cached_if_unreachable

    folder = Path(place)
    if folder.is_dir():
        options.setdefault("cache_dir", _cache_of(folder))
    with cached_if_unreachable(place):
        return datasets.load_dataset(place, subset, **options)


def _cache_of(folder: Path) -> str:
    """Return where `datasets` keeps what it reads of a folder, a place for each state of its files.

    Of a folder whose card lists its files it would else show what it read before under that name,
    in another working directory or before the folder was written anew.
    """
    import datasets

    from pqpp_files.hashes import sha256_of_parts

    known = [str(folder.absolute())]
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            told = path.stat()
            known.append(f"{path.relative_to(folder)}|{told.st_size}|{told.st_mtime_ns}")
    digest = sha256_of_parts([f"{one}\0" for one in known])
    return str(Path(datasets.config.HF_DATASETS_CACHE) / "pqpp_folders" / digest[:16])
