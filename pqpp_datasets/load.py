"""Loading a benchmark of this package, of a folder, or of a repository on the Hub."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pqpp_datasets.benchmarks import BENCHMARKS
from pqpp_datasets.errors import BenchmarkError
from pqpp_datasets.own_benchmark import images
from pqpp_datasets.registration import register
from pqpp_files.errors import describe, reraise
from pqpp_files.foreign.json_values import read_json
from pqpp_files.names import did_you_mean
from pqpp_files.paths import expand, join_inside, walk_files
from pqpp_hub import is_repository_id

if TYPE_CHECKING:
    import datasets

# The key that lists other files, by name of a file of `save_to_disk`.
_LISTS = {"state.json": "_data_files", "dataset_dict.json": "splits"}


def load_benchmark(
    name: str | Path = "pqpp", subset: str | None = None, split: str | None = None, **options: Any
) -> datasets.DatasetDict | datasets.Dataset:
    """Load a benchmark, with its prompts and scores.

    Args:
        name: One of `list_benchmarks()`; a folder that `pqpp build` or `save_to_disk` wrote; or
            OWNER/REPOSITORY. A listed name takes precedence over a folder.
        subset: The configuration; for `pqpp`, a name of `list_benchmarks()`.
        split: One split, or several, such as ``train+validation``; default: all.
        options: Arguments of `load_dataset`, such as `data_dir` or `streaming`, and `image_dir`,
            the folder with the images.

    Returns:
        The split; without `split`, a `DatasetDict` of all splits.

    Raises:
        BenchmarkError: The benchmark, subset or split does not exist, or an option is invalid.

    Example:
        >>> load_benchmark("sample", split="test").column_names[:3]
        ['prompt_id', 'source', 'prompt']
    """
    import datasets

    if not (name := str(name)).strip():
        raise BenchmarkError("the name of the dataset is empty; choose a benchmark or folder")
    if name in BENCHMARKS:
        register()  # in case start-up files are switched off
        config = get_config_name(name, subset)
        try:
            return datasets.load_dataset("pqpp", config, split=split, **options)
        except BenchmarkError:
            raise
        except (ValueError, KeyError) as error:  # such as a missing split or an unknown option
            subject = f"{config}, split {split}" if split else config
            raise BenchmarkError(f"{subject}: {describe(error, named=False)}") from None
    folder = expand(name)
    is_folder = folder.is_dir()
    if not is_folder and (name.startswith(".") or "/" not in name or not is_repository_id(name)):
        hint = did_you_mean(name, list_benchmarks())
        raise BenchmarkError(f"dataset {name} not found; check the path, or {hint}")
    if any((folder / f"dataset_{file_type}.json").is_file() for file_type in ("dict", "info")):
        return _load_saved(str(folder), split, {"subset": subset, **options})
    image_dir = options.pop("image_dir", None)
    if is_folder:  # `datasets` needs a folder name, which `.` does not have
        name = str(folder if folder.name else folder.absolute())
    rows = images.load_own_benchmark(name, subset, split=split, **options)
    if image_dir is None:
        return rows
    if not isinstance(rows, dict):
        return images.add_saved_images(rows, name, image_dir)
    splits = {key: images.add_saved_images(rows[key], name, image_dir) for key in rows}
    return datasets.DatasetDict(splits)


def get_config_name(name: str, subset: str | None = None) -> str:
    """Return the name of this package's configuration for a listed name and a subset.

    Raises:
        BenchmarkError: The configuration does not exist.

    Example:
        >>> get_config_name("pqpp", "conqa"), get_config_name("conqa"), get_config_name("pqpp")
        ('conqa', 'conqa', 'pqpp')
    """
    chosen = subset or name
    if chosen not in BENCHMARKS or name not in ("pqpp", chosen):
        hint = did_you_mean(chosen, BENCHMARKS if name == "pqpp" else [name])
        raise BenchmarkError(f"subset {chosen} not found in {name}; {hint}")
    return chosen


def _load_saved(path: str, split: str | None, options: dict[str, Any]) -> Any:
    import datasets

    if invalid := [name for name, value in options.items() if value is not None]:
        raise BenchmarkError(f"`{invalid[0]}` does not apply to {path} (save_to_disk); remove it")
    with reraise(f"{path} is damaged", "save the dataset again", BenchmarkError):
        for file in walk_files(Path(path)):
            join_inside(file.parent, file.name)
            entries = read_json(file)[_LISTS[file.name]] if file.name in _LISTS else ()
            for entry in entries:
                join_inside(file.parent, entry["filename"] if isinstance(entry, dict) else entry)
        saved = images.refuse_outside_images(datasets.load_from_disk(path), Path(path))
    if split is None:
        return saved
    splits = list(saved) if isinstance(saved, dict) else []
    names = [name.strip() for name in split.split("+")]
    if not set(names) <= set(splits):
        available = ", ".join(splits) or "none"
        raise BenchmarkError(f"split {split} not found in {path}; available splits: {available}")
    return datasets.concatenate_datasets([saved[name] for name in names])


def list_benchmarks() -> list[str]:
    """Return the names of the included benchmarks, the default first.

    Example:
        >>> list_benchmarks()[0]
        'pqpp'
    """
    return list(BENCHMARKS)
