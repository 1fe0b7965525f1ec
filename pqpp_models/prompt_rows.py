"""Prompts with their other columns, from strings, files or datasets."""

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from pqpp_datasets.errors import BenchmarkError
from pqpp_files.errors import FileError
from pqpp_files.open_input import Input, is_input
from pqpp_files.read_table import log_assumptions, read_table

_AT_ONCE = 2048
_REMEDY = "set `column` to the prompt column"


@dataclass
class PromptSource:
    """Prompts with their other columns, in batches.

    Attributes:
        texts: The prompts.
        read_batches: A function that yields the columns of each batch, and its rows as the
            predictor reads them; its argument is whether to convert the numbers of a CSV file.
        rows: The rows of a dataset, if it is one.
    """

    texts: Sequence[str]
    read_batches: Callable[[bool], Iterable[tuple[dict, Any]]]
    rows: Any = None

    @classmethod
    def from_strings(cls, prompts: Sequence[str]) -> Self:
        """Create a source from prompts."""
        return cls(prompts, lambda convert: [({"prompt": prompts}, prompts)])

    @classmethod
    def from_rows(cls, rows: Any) -> Self:
        """Create a source from a dataset with a column `prompt`."""
        return cls(rows["prompt"][:], lambda convert: iterate_batches(rows), rows)

    @classmethod
    def from_file(cls, path: str, column: str = "prompt") -> Self:
        """Create a source from a table or text file; `-` is standard input.

        Raises:
            FileError: The file cannot be read, or has no such text column, or has no prompts.
        """
        from pqpp_models.tool_prompts import read_tool_prompts

        source = Input(path)
        if (columns := read_tool_prompts(source)) is not None:
            return cls(columns["prompt"], lambda convert: [(columns, columns["prompt"])])
        table = read_table(source, plain=column, remedy=_REMEDY)
        column = table.find(column)
        texts = table.texts(column)
        if not texts:
            raise FileError(f"{source.name} has no prompts; add at least one row")
        if any(texts) and not any(letter.isalpha() for text in texts for letter in text):
            raise FileError(f"{source.name}: the column {column!r} has no words; {_REMEDY}")

        def read_batches(convert: bool) -> Iterator[tuple[dict, Any]]:
            columns = {n: table.values(n) if convert else c for n, c in table.columns.items()}
            columns[column] = texts
            for start in range(0, len(texts), _AT_ONCE):
                batch = {n: cells[start : start + _AT_ONCE] for n, cells in columns.items()}
                yield batch, batch[column]

        return cls(texts, read_batches)


def load_dataset_rows(
    dataset: str,
    subset: str | None = None,
    split: str | None = None,
    data_dir: str | None = None,
    image_dir: str | None = None,
    column: str = "prompt",
    usual_splits: Sequence[str] = (),
    keeps_images: bool = False,
) -> tuple[Any, str | None]:
    """Load the rows of a dataset, with the prompts in the column `prompt`.

    Args:
        dataset: A listed name, a folder, OWNER/REPOSITORY, or a table.
        subset: As in `load_benchmark`, like `data_dir` and `image_dir`.
        split: The split, or `all`; default: the first of `usual_splits` that exists, or the only
            split.
        usual_splits: Splits to choose from, in order.
        keeps_images: Whether to load the images of a benchmark built by pqpp.

    Returns:
        The rows and their split.

    Raises:
        BenchmarkError: The configuration, split or column does not exist, or a prompt is not text.
        PqppError: The dataset does not exist.
    """
    from pqpp_backbones.training.reading import explain_load_errors

    try:
        folders = {"data_dir": data_dir, "image_dir": image_dir}
        with explain_load_errors(dataset, "check `dataset`"):
            rows, split = _load_split(dataset, subset, split, folders, column, usual_splits)
            if keeps_images or image_dir is not None:
                rows = attach_saved_images(rows, dataset, image_dir)
    except BenchmarkError as error:
        message = re.sub(r"^(dataset|subset|split|data-dir)\b", r"`\1`", str(error))
        raise BenchmarkError(message) from None
    if column not in rows.column_names:
        columns = f"(columns: {', '.join(rows.column_names)[:200]})"
        raise BenchmarkError(f"`dataset` {dataset} has no column {column!r} {columns}; {_REMEDY}")
    if column != "prompt":
        if "prompt" in rows.column_names:
            rows = rows.remove_columns("prompt")
        rows = rows.rename_column(column, "prompt")
    if not len(rows):
        raise BenchmarkError(f"{dataset} has no prompts; add at least one row")
    for number, prompt in enumerate(rows["prompt"][:], 1):
        if not isinstance(prompt, str):
            fault = f"{column!r} must be text; got {prompt!r}"
            raise BenchmarkError(f"`dataset` {dataset}, row {number}: {fault}")
    return rows, split


def attach_saved_images(rows: Any, dataset: str, image_dir: str | None) -> Any:
    """Add the images of a benchmark built by pqpp to its rows; other rows are unchanged."""
    from pqpp_datasets.benchmarks import BENCHMARKS
    from pqpp_datasets.own_benchmark.images import add_saved_images

    if dataset in BENCHMARKS or is_input(dataset):
        return rows
    return add_saved_images(rows, dataset, image_dir)


def _load_split(
    dataset: str,
    subset: str | None,
    split: str | None,
    folders: dict[str, str | None],
    column: str,
    usual_splits: Sequence[str],
) -> tuple[Any, str | None]:
    from datasets import concatenate_datasets

    from pqpp_datasets.benchmarks import BENCHMARKS
    from pqpp_datasets.load import get_config_name, load_benchmark

    if dataset not in BENCHMARKS and is_input(dataset):
        refuse_split_options(dataset, {"subset": subset, "split": split, **folders})
        return _read_prompt_table(dataset, column), None

    def choose(splits: Iterable[str]) -> tuple[str, str | None]:
        names = list(splits)
        preferred = split or next((name for name in usual_splits if name in names), None)
        chosen = preferred or (names[0] if len(names) == 1 else None)
        if chosen not in (*names, "all"):
            problem = "`split` is missing" if chosen is None else f"`split` {chosen} does not exist"
            raise BenchmarkError(
                f"{problem}; choose from the splits of {dataset}: {', '.join(names)}, or all"
            )
        return chosen, preferred

    options = {name: folder for name, folder in folders.items() if folder is not None}
    if dataset in BENCHMARKS:
        if Path(dataset).is_dir():
            message = f"{dataset} is the published benchmark; write ./{dataset} for the folder"
            logging.getLogger(__name__).warning("%s here", message)
        # The split is chosen before a download.
        chosen, preferred = choose(BENCHMARKS[get_config_name(dataset, subset)].splits)
        return load_benchmark(dataset, subset, chosen, **options), preferred
    options.pop("image_dir", None)
    splits = load_benchmark(dataset, subset, **options)
    if hasattr(splits, "keys"):
        chosen, preferred = choose(splits)
        if chosen == "all":
            return concatenate_datasets(list(splits.values())), preferred
        return splits[chosen], preferred
    if split is not None:
        raise BenchmarkError(f"{dataset} has no splits; remove `split`")
    return splits, None


def refuse_split_options(dataset: str, options: dict[str, str | None]) -> None:
    """Check that no option selects a split or folder, which a table does not have.

    Raises:
        BenchmarkError: An option is set.
    """
    for name, value in options.items():
        if value is not None:
            raise BenchmarkError(f"`{name}` does not apply to the table {dataset}; remove `{name}`")


def _read_prompt_table(dataset: str, column: str) -> Any:
    import datasets
    import pyarrow as pa

    table, arrays = read_table(dataset, plain=column, remedy=_REMEDY), {}
    prompt_column, texts = table.find(column), table.texts(column)
    for name in table.columns:
        cells = texts if name == prompt_column else table.values(name)
        try:
            array = pa.array(cells)
        except (pa.ArrowException, OverflowError):  # of several types, or beyond 64 bits
            array = pa.array([cell if cell is None else str(cell) for cell in cells])
            log_assumptions(dataset, f"texts in {name}, of several types or beyond 64 bits")
        arrays[column if name == prompt_column else name] = array
    return datasets.Dataset(pa.table(arrays))


def iterate_batches(rows: Any) -> Iterator[tuple[dict, Any]]:
    """Yield each batch of a dataset, as a dict of its columns other than images and as rows.

    Example:
        >>> import datasets
        >>> rows = datasets.Dataset.from_dict({"prompt": ["a cat"], "n": [1]})
        >>> [columns for columns, _ in iterate_batches(rows)]
        [{'prompt': ['a cat'], 'n': [1]}]
    """
    columns = [name for name, kind in rows.features.items() if "Image(" not in repr(kind)]
    for start in range(0, len(rows), _AT_ONCE):
        batch = rows.select(range(start, min(start + _AT_ONCE, len(rows))))
        yield batch.select_columns(columns).to_dict(), batch
