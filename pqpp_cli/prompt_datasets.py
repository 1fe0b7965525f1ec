"""Reading the rows of a dataset: one of ours, one of the Hub, or a folder."""

import argparse
import sys
from pathlib import Path

from pqpp_cli.errors import CommandError
from pqpp_cli.options import add_image_dir

OPTIONS = ("config", "split", "data_dir", "image_dir")


def add_dataset(parser: argparse.ArgumentParser) -> None:
    """Add `--dataset` and the options that say which part of it."""
    parser.add_argument(
        "--dataset",
        metavar="NAME_OR_FOLDER",
        help="read the prompts of a dataset: pqpp, OWNER/REPOSITORY, or a folder of data files or "
        "of save_to_disk",
    )
    parser.add_argument(
        "--config", help="configuration of the dataset (default: the one that it names)"
    )
    parser.add_argument("--split", help="its split (default: the only one)")
    parser.add_argument(
        "--data-dir", metavar="DIR", help="read pqpp's published files from this folder"
    )
    add_image_dir(parser)


def load_rows(options: argparse.Namespace):
    """Return the rows that the options name, with the prompts in the column `prompt`.

    Args:
        options: Those of `add_dataset`, and `column`.

    Raises:
        CommandError: There is no such dataset, configuration, split or column, or a prompt is no
            text.
    """
    import datasets
    from datasets.exceptions import DatasetGenerationError

    import pqpp_datasets  # noqa: F401 (registers, also where the start-up files are switched off)
    from pqpp_files.errors import PqppError
    from pqpp_hub.reasons import reason_behind

    if not sys.stderr.isatty():
        datasets.disable_progress_bars()
    try:
        rows = _split_of(_loaded(options), options)
    except Exception as error:
        if isinstance(error, PqppError):
            raise
        # The texts of the Hub's client may hold request headers, and with them a token.
        refused = reason_behind(error)
        if refused is not None:
            raise CommandError(f"--dataset {options.dataset}: it {refused}") from None
        if not isinstance(error, (ValueError, OSError, DatasetGenerationError)):
            raise
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        raise CommandError(f"--dataset {options.dataset}: {reason}") from None
    return _with_prompts(rows, options)


def _loaded(options: argparse.Namespace):
    import datasets

    if (Path(options.dataset) / "dataset_dict.json").is_file() or (
        Path(options.dataset) / "dataset_info.json"
    ).is_file():
        for name in ("config", "data_dir", "image_dir"):
            if getattr(options, name) is not None:
                raise CommandError(
                    f"--{name.replace('_', '-')}: {options.dataset} was saved by save_to_disk and "
                    "takes none; leave it out"
                )
        return datasets.load_from_disk(options.dataset)
    images = {} if options.image_dir is None else {"image_dir": options.image_dir}
    from pqpp_hub.pull import cached_if_unreachable

    with cached_if_unreachable(options.dataset):
        return datasets.load_dataset(
            options.dataset, options.config, data_dir=options.data_dir, **images
        )


def _split_of(found, options: argparse.Namespace):
    """Return one split of what was loaded."""
    if not hasattr(found, "keys"):
        if options.split is not None:
            raise CommandError(f"--split {options.split}: {options.dataset} has no splits")
        return found
    splits = list(found)
    if options.split is None and len(splits) == 1:
        return found[splits[0]]
    if options.split not in splits:
        if options.dataset == "pqpp" and options.split is not None:
            import datasets

            # A copy may lack one of its splits; the benchmark says which file is missing.
            datasets.load_dataset(
                "pqpp", options.config, data_dir=options.data_dir, split=options.split
            )
        asked = "--split is needed" if options.split is None else f"--split {options.split}"
        raise CommandError(f"{asked}: {options.dataset} has {', '.join(splits)}; use one of them")
    return found[options.split]


def _with_prompts(rows, options: argparse.Namespace):
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
    for number, prompt in enumerate(rows["prompt"], 1):
        if not isinstance(prompt, str):
            raise CommandError(
                f"--dataset {options.dataset}, row {number}: {column} is {prompt!r}, a text is "
                "needed; leave the row out"
            )
    return rows


def plain_columns(rows) -> dict[str, list]:
    """Return a dataset's columns but for images, which no table of text holds.

    Example:
        >>> import datasets
        >>> plain_columns(datasets.Dataset.from_dict({"prompt": ["a cat"], "n": [1]}))
        {'prompt': ['a cat'], 'n': [1]}
    """
    kept = [name for name, kind in rows.features.items() if "Image(" not in repr(kind)]
    return rows.select_columns(kept).to_dict()
