"""Reading the rows of a dataset: one of ours, one of the Hub, or a folder."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pqpp_cli.errors import CommandError
from pqpp_cli.options import add_image_dir, add_retired

_AT_ONCE = 16_384
OPTIONS = ("subset", "split", "data_dir", "image_dir")


def add_dataset(
    parser: argparse.ArgumentParser,
    what: str = "read the prompts of a dataset: pqpp, another listed name, OWNER/REPOSITORY, or a "
    "folder of data files or of save_to_disk, or a table",
    default: str | None = None,
    older: str | None = None,
    subset: str = "the one that it names",
    split: str | None = None,
    images: bool = True,
) -> None:
    """Add `--dataset` and the options that say which part of it.

    Args:
        parser: The parser.
        what: The help of `--dataset`.
        default: What it is if left out.
        older: An older name of it.
        subset: The default of `--subset`, in words.
        split: What `--split` is if left out.
        images: Whether `--image-dir` is added.
    """
    parser.add_argument("--dataset", metavar="NAME_OR_PATH", default=default, help=what)
    if older:
        hidden: dict[str, Any] = {"default": argparse.SUPPRESS, "help": argparse.SUPPRESS}
        parser.add_argument(older, dest="dataset", **hidden)
    parser.add_argument("--subset", metavar="NAME", help=f"its configuration (default: {subset})")
    add_retired(parser, "--config", "--subset, and --dataset for the data")
    parser.add_argument(
        "--split", default=split, help=f"its split (default: {split or 'the only one'})"
    )
    parser.add_argument(
        "--data-dir",
        metavar="DIR",
        help="read the published files from this folder, or from a root that holds pqpp/v1.1 and "
        "so on, instead of downloading them",
    )
    parser.set_defaults(image_dir=None)
    if images:
        add_image_dir(parser)


def refuse_parts(options: argparse.Namespace, but: Sequence[str] = ()) -> None:
    """Refuse options that say which part of a dataset, where no dataset is named.

    Args:
        options: Those of `add_dataset`.
        but: Options that have another meaning too.

    Raises:
        CommandError: There is such an option.
    """
    named = [one for one in OPTIONS if getattr(options, one) is not None and one not in but]
    if named and not options.dataset:
        option = named[0].replace("_", "-")
        raise CommandError(f"--{option}: it is about a dataset; name one by --dataset")


def dataset_rows(
    options: argparse.Namespace, usual_split: str | None = None, images: bool = False
) -> Any:
    """Return the rows that the options name, with the prompts in the column `prompt`.

    Args:
        options: Those of `add_dataset`, and `column`.
        usual_split: What is taken, and noted in the options, where no split is named and there is
            such a one.
        images: Whether the images are wanted that a benchmark of one's own keeps.

    Raises:
        CommandError: There is no such dataset, configuration, split or column, or a prompt is no
            text.
    """
    import datasets
    from datasets.exceptions import DatasetGenerationError

    from pqpp_datasets.benchmarks import BENCHMARKS
    from pqpp_datasets.errors import NoSuchDatasetError
    from pqpp_files.errors import PqppError, in_a_line
    from pqpp_files.full_disk import is_full, naming
    from pqpp_hub.reasons import reason_behind

    try:
        rows = _loaded(options, usual_split)
        if images or options.image_dir is not None:
            rows = with_kept_images(rows, options)
    except NoSuchDatasetError as error:
        raise CommandError(f"--{error}") from None
    except Exception as error:
        if isinstance(error, PqppError):
            raise
        if is_full(error):
            with naming(datasets.config.HF_DATASETS_CACHE):
                raise
        # The texts of the Hub's client may hold request headers, and with them a token.
        refused = reason_behind(error)
        if refused is not None:
            raise CommandError(f"--dataset {options.dataset}: it {refused}") from None
        is_ours = (options.subset or options.dataset) in BENCHMARKS
        if is_ours and not isinstance(error, (ValueError, OSError, DatasetGenerationError)):
            raise  # of another's folder `datasets` may stumble over anything
        reason = in_a_line(error, named=False)
        raise CommandError(f"--dataset {options.dataset}: {reason}") from None
    return _with_prompts(rows, options)


def with_kept_images(rows: Any, options: argparse.Namespace) -> Any:
    """Return rows with the images that a benchmark of one's own keeps; others stay as they are."""
    from pqpp_datasets.benchmarks import BENCHMARKS
    from pqpp_datasets.own_benchmark.images import add_kept_images
    from pqpp_files.open_input import names_input

    if options.dataset in BENCHMARKS or names_input(options.dataset):
        return rows
    return add_kept_images(rows, options.dataset, options.image_dir)


def _loaded(options: argparse.Namespace, usual_split: str | None) -> Any:
    from pqpp_datasets.benchmarks import BENCHMARKS
    from pqpp_datasets.load import configuration, load_benchmark
    from pqpp_files.open_input import names_input

    name = options.dataset
    if name not in BENCHMARKS and names_input(name):
        return _table(options)
    given = {"data_dir": options.data_dir}
    if name in BENCHMARKS:
        if Path(name).is_dir():
            what = f"{name} is the published benchmark; ./{name} is the folder of that name here"
            print(f"pqpp: note: {what}", file=sys.stderr)
        given["image_dir"] = options.image_dir
        splits = BENCHMARKS[configuration(name, options.subset)].splits
        given["split"] = _chosen_split(
            options, list(splits), usual_split
        )  # before it is downloaded
    given = {option: value for option, value in given.items() if value is not None}
    found = load_benchmark(name, options.subset, **given)
    if "split" in given:
        return found
    if hasattr(found, "keys"):
        return found[_chosen_split(options, list(found), usual_split)]
    if options.split is not None:
        raise CommandError(f"--split {options.split}: {name} has no splits")
    return found


def _chosen_split(options: argparse.Namespace, splits: list[str], usual: str | None) -> str:
    if options.split is None and usual in splits:
        options.split = usual
    split = options.split or (splits[0] if len(splits) == 1 else None)
    if split not in splits:
        asked = "--split is needed" if split is None else f"--split {split}"
        raise CommandError(f"{asked}: {options.dataset} has {', '.join(splits)}; use one of them")
    return split


def _table(options: argparse.Namespace) -> Any:
    """Return a table of prompts as rows; it has no parts that could be named."""
    import datasets
    import pyarrow as pa

    from pqpp_files.read_table import TableParts

    for option in OPTIONS:
        if getattr(options, option) is not None:
            raise CommandError(
                f"--{option.replace('_', '-')}: {options.dataset} is a table and has none; leave "
                "it out"
            )
    column = options.column
    table = TableParts(options.dataset, column, column, "name it with --column")
    # As arrays a tenth of the memory of lists; a part may hold less of a type than the whole.
    parts = [_arrow(options.dataset, part) for part in table.parts(typed=True)]
    return datasets.Dataset(pa.concat_tables(parts, promote_options="permissive"))


def _arrow(path: str, part: dict[str, list]) -> Any:
    """Return a part of a table as one of Arrow, whose columns hold one type each."""
    import pyarrow as pa

    arrays = {}
    for name, cells in part.items():
        try:
            arrays[name] = pa.array(cells)
        except (pa.ArrowException, OverflowError) as error:
            raise CommandError(
                f"--dataset {path}: the values of {name} are not of one type, or need more than "
                f"64 bits ({' '.join(str(error).split())[:100]}); write them as text"
            ) from None
    return pa.table(arrays)


def _with_prompts(rows: Any, options: argparse.Namespace) -> Any:
    column = options.column
    if column not in rows.column_names:
        raise CommandError(
            f"--dataset {options.dataset}: no column {column!r} among "
            f"{', '.join(rows.column_names)[:200]}; name it with --column"
        )
    if column != "prompt":
        if "prompt" in rows.column_names:
            rows = rows.remove_columns("prompt")
        rows = rows.rename_column(column, "prompt")
    first = 1
    for part, _ in parts_of(rows, ["prompt"]):
        if not all(map(str.__instancecheck__, part["prompt"])):
            at = next(n for n, one in enumerate(part["prompt"]) if not isinstance(one, str))
            raise CommandError(
                f"--dataset {options.dataset}, row {first + at}: {column} is "
                f"{part['prompt'][at]!r}, a text is needed; leave the row out"
            )
        first += len(part["prompt"])
    return rows


def parts_of(rows: Any, columns: Sequence[str] | None = None) -> Iterator[tuple[dict, Any]]:
    """Give a dataset some thousand rows at a time: their columns, and the rows themselves.

    Args:
        rows: The dataset; without rows it is one empty part.
        columns: Which columns; all but images, which no table of text holds, if None.

    Example:
        >>> import datasets
        >>> rows = datasets.Dataset.from_dict({"prompt": ["a cat"], "n": [1]})
        >>> [columns for columns, _ in parts_of(rows)]
        [{'prompt': ['a cat'], 'n': [1]}]
    """
    if columns is None:
        columns = [name for name, kind in rows.features.items() if "Image(" not in repr(kind)]
    for start in range(0, max(len(rows), 1), _AT_ONCE):
        part = rows.select(range(start, min(start + _AT_ONCE, len(rows))))
        yield part.select_columns(list(columns)).to_dict(), part
