"""Which rows figures come from: how many, and whether they are RichHF's published ones."""

from __future__ import annotations

from pathlib import Path


def split_names(split: str) -> list[str]:
    """Return the splits that a split of `load_dataset` is made of.

    Args:
        split: Like `test`, `train[:10%]` or `train+validation`.

    Example:
        >>> split_names("train[:10%] + test")
        ['train', 'test']
    """
    return [part.split("[")[0].strip() for part in split.split("+")]


def is_published(split: str, data_dir: str | Path | None) -> bool:
    """Tell whether a split of RichHF is read from the published files.

    Args:
        split: As `load_dataset` takes it.
        data_dir: The folder of the TFRecord files, or None where `PQPP_DATA_DIR` or a download
            stands for it.

    Raises:
        MissingFileError: One of the folders is not there.

    Example:
        >>> import tempfile
        >>> is_published("test", tempfile.mkdtemp())
        False
    """
    from pqpp_datasets.benchmarks import BENCHMARKS
    from pqpp_datasets.location import local_folder
    from pqpp_datasets.sources import release
    from pqpp_files.hashes import sha256_of

    benchmark = BENCHMARKS["richhf"]
    folder = local_folder(benchmark, None if data_dir is None else str(data_dir))
    if folder is None:  # each download is verified
        return True
    for path in {path for name in split_names(split) for path in benchmark.files(folder, name)}:
        source, file = release(benchmark.folders[0]).file(path), folder / path
        if source is None or not file.is_file() or file.stat().st_size != source.bytes:
            return False
        if sha256_of(file) != source.sha256:
            return False
    return True


def counted(images: int, published: bool) -> str:
    """Return in words how many images there are, and that they are none of the published files.

    Example:
        >>> counted(300, published=False)
        '300 images, not the published files'
    """
    number = f"{images} image{'' if images == 1 else 's'}"
    return number if published else f"{number}, not the published files"
