"""Options that several commands share, with their checks."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pqpp_cli.command import PAGES, Group
from pqpp_cli.commands import get_command_words
from pqpp_cli.output import BINARY_STYLES, TABLE_ENDINGS, TABLE_STYLES, emit, print_notes
from pqpp_files.errors import PqppError
from pqpp_files.extras import require_extra
from pqpp_files.open_input import is_input
from pqpp_files.options.option import option
from pqpp_files.paths import expand, is_file_name, resolve

if TYPE_CHECKING:
    from pqpp_files.shards import Shard


def _list_targets() -> Sequence[str]:
    from pqpp_models.targets import ALIGNMENT, TARGETS

    return [ALIGNMENT, *TARGETS]


def _list_predictors() -> Sequence[str]:
    from pqpp_models import list_predictors

    return ["linguistic", *list_predictors()]


CONFIGURATIONS = "pqpp_datasets.benchmarks:BENCHMARKS"
"""The names of datasets, for tab completion."""


def parse_json_or_text(text: str) -> Any:
    """Return the JSON or Python value of a text, such as true, True or .9, or the text itself."""
    from pqpp_files.foreign.json_values import parse_json

    for parse in (parse_json, ast.literal_eval):
        with suppress(ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            return parse(text)
    return text


class Targets(Group):
    """The option for the targets to predict, compare or learn."""

    targets: tuple[str, ...] | None = option(
        None, metavar="NAME[,NAME...]", also=("target",), known=_list_targets
    )


class OnePredictor(Group):
    """The option for a single predictor.

    Attributes:
        predictor: A name, a folder or a Hub repository (default: static, shipped with pqpp).
    """

    predictor: str = option("static", path="name", also=("predictors",), known=_list_predictors)


class Predictors(Group):
    """The option for the predictors to compare.

    Attributes:
        predictors: Names, folders or Hub repositories of predictors, with commas between them;
            FILE:COLUMN for predictions in a table with prompt_id or prompt; MODULE:FUNCTION for a
            function of a list of prompts; or a transformers text classifier with one label
            (default: static and linguistic).
    """

    predictors: tuple[str, ...] | None = option(
        None, path="name", also=("predictor",), commas=True, known=_list_predictors
    )


class DataDir(Group):
    """The option for the folder of published files.

    Attributes:
        data_dir: Folder of the published files, or a root with pqpp/v1.1 and so on (default:
            download them).
    """

    TITLE = "dataset"
    data_dir: str | None = option(None, path="folder")


class ColumnOptions(Group):
    """The option for the column that contains the prompts."""

    column: str = option("prompt", "column with the prompts")


class Dataset(ColumnOptions, DataDir):
    """Options for a dataset, and the configuration, split and column to read.

    Attributes:
        dataset: Dataset with the prompts: a name from `pqpp datasets list`, OWNER/REPOSITORY, a
            folder of data files or from save_to_disk, or a table.
        subset: Configuration of the dataset (default: the one of its name).
        split: Split of the dataset, or all (default: the only one).
    """

    TITLE = "dataset"
    dataset: str | None = option(None, path="name", known=CONFIGURATIONS)
    subset: str | None = option(None, goes_with="dataset")
    split: str | None = option(None, known=("train", "validation", "test"), goes_with="dataset")
    data_dir: str | None = option(None, goes_with="dataset")

    def load_rows(self) -> Any:
        """Return the rows of the dataset, with its column of prompts as `prompt`."""
        from pqpp_models.prompt_rows import load_dataset_rows

        source = (self.dataset or "", self.subset, self.split, self.data_dir)
        return load_dataset_rows(*source, column=self.column)[0]


class ImageDir(Group):
    """The option for the folder of images.

    Attributes:
        image_dir: Folder of images, for predictors that need them: PQPP's unpacked archive, or the
            images of a benchmark from `pqpp build`.
    """

    image_dir: str | None = option(None, path="images")


class PromptOptions(ColumnOptions):
    """Options for the prompts, as arguments or in a file.

    Attributes:
        file: Text, CSV, TSV, JSON, JSONL, Parquet or Excel file with prompts, or - for standard
            input.
    """

    prompts: tuple[str, ...] = option((), "a prompt, in quotes", metavar="PROMPT", word=True)
    file: str | None = option(None, path="file")

    def __post_init__(self) -> None:
        """Refuse arguments that are blank, file names, or unquoted words of a prompt."""
        super().__post_init__()
        if self.prompts and not any(map(str.strip, self.prompts)):
            raise PqppError("the prompt is blank; write a prompt in quotes")
        for prompt in self.prompts:
            if any("\ud800" <= character <= "\udfff" for character in prompt):
                raise PqppError(f"prompt {prompt!r} is not UTF-8; give a UTF-8 file with `file`")
            if is_file_name(prompt):
                raise PqppError(f"{prompt!r} is a file name, not a prompt; write `file` {prompt}")
        has_function_word = not _FUNCTION_WORDS.isdisjoint(map(str.lower, self.prompts))
        if len(self.prompts) > 1 and (has_function_word or not any(" " in p for p in self.prompts)):
            command = " ".join(["pqpp", *get_command_words(type(self))])
            line = f"""{command} "{" ".join(self.prompts).replace('"', "'")}\""""
            raise PqppError(f"these words look like one prompt; write {line}, or use `file`")

    def read_prompts(self, typed: bool) -> tuple[dict[str, list], list[str]]:
        """Return the columns of the input, and its prompts; see `PromptSource.read_batches`."""
        from pqpp_models.prompt_rows import PromptSource

        source = PromptSource.from_strings(list(self.prompts))
        source = PromptSource.from_file(self.file, self.column) if self.file else source
        parts = [*source.read_batches(typed)]
        prompts = [text for _, texts in parts for text in texts]
        return {name: [c for part, _ in parts for c in part[name]] for name in parts[0][0]}, prompts


# No prompt consists of one of these alone.
_FUNCTION_WORDS = {"a", "an", "and", "at", "in", "into", "of", "on", "or", "the", "to", "with"}

_STYLES = dict(zip(TABLE_ENDINGS, TABLE_STYLES, strict=True))
_STYLES |= {".md": "markdown", ".tex": "latex", ".html": "html", ".txt": "table", "": "table"}


class ResultOptions(Group):
    """Options for the format of a result, and the file to write it to.

    Attributes:
        format: Output format (default: from the suffix of --output, or table).
    """

    format: str | None = None
    output: str | None = option(None, "write to a file instead of printing", path="output file")

    def get_output_type(self, name: str) -> str:
        """Return the type of the file that an option writes."""
        if name == "output" and self.style in BINARY_STYLES:
            return BINARY_STYLES[self.style]
        return super().get_output_type(name)

    @cached_property
    def style(self) -> str:
        """The output format: `format`, else that of the suffix of `output`, else table.

        Raises:
            PqppError: The suffix is not of an allowed format, or a binary format has no `output`.
        """
        formats = type(self).__dataclass_fields__["format"].metadata["choices"]
        style = self.format or _STYLES.get(Path(self.output or "").suffix.lower(), "")
        if style not in formats:
            endings = [ending for ending, name in _STYLES.items() if name in formats and ending]
            hint = f"use one of the endings {', '.join(endings)}, or set `format`"
            raise PqppError(f"`output` is {self.output}; {hint}")
        if style in BINARY_STYLES and self.output is None:
            raise PqppError(f"`format` {style} needs a file; set `output` to one")
        if style == "xlsx":  # before hours of work
            with require_extra("writing an Excel file", "excel"):
                import openpyxl  # noqa: F401
        return style


class Tables(ResultOptions):
    """The option for the output format of tables."""

    format: str | None = option(None, choices=("table", "markdown", "latex", "csv", "json"))

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.style


class ReportOptions(Tables):
    """Options for the format, file and HTML report of result tables."""

    report: str | None = option(None, "also write an HTML page", path="output file", endings=PAGES)

    def write_tables(self, title: str, tables: Sequence[Any], notes: Sequence[str] = ()) -> None:
        """Print the tables or write them to `output`, and write the HTML report if requested."""
        from pqpp_files.figures import format_tables, render_tables

        emit(format_tables(self.style, tables, notes), self.output, self.style)
        if self.report:
            emit(render_tables(title, tables, notes), self.report)


class ShardOptions(Group):
    """Options of a job in shards.

    Attributes:
        shard: Process only share I of N; I starts at 0.
        engine: Where to run: on this machine (local, the default) or on the Ray cluster at
            RAY_ADDRESS; all nodes need access to the files.
        num_cpus: With --engine ray: CPUs per worker (default: 1).
        num_gpus: With --engine ray: GPUs per worker, such as 0.5.
    """

    TITLE = "shards (run a killed job again to resume it)"
    SHARD_SIZE: ClassVar[int] = 100_000
    shard_size: int | None = option(None, "rows per shard (default: 100000)")
    shard: str | None = option(None, metavar="I/N")
    workers: int | None = option(None, "parallel processes (default: 1; on Ray, as many as fit)")
    engine: str | None = option(None, choices=("local", "ray"))
    num_cpus: float | None = option(None, ge=0, goes_with="engine=ray")
    num_gpus: float | None = option(None, ge=0, goes_with="engine=ray")

    @property
    def in_shards(self) -> bool:
        """Whether an option of this group is set, or the input is a folder or a pattern."""
        file = getattr(self, "file", None) or "-"
        is_many = not is_input(file) and (any(map(file.count, "*?[")) or expand(file).is_dir())
        return is_many or {self.shard_size, self.shard, self.workers, self.engine} != {None}

    @property
    def has_many_workers(self) -> bool:
        """Whether several processes do the work, each with its own copy of the model."""
        return (self.workers or 1) > 1 or self.engine == "ray"

    def get_path_role(self, option: str) -> str | None:
        """Return the role of an option's path, or None if it is in an object store."""
        role = super().get_path_role(option)
        if not self.in_shards or option not in ("output", "image_dir"):
            return role
        from pqpp_files.shards.store import is_local

        role = "output" if option == "output" else role  # a folder
        return role if is_local(str(getattr(self, option))) else None

    def run_in_shards(
        self,
        file: str | None,
        output: str | None,
        make_job: Callable[[], tuple[Any, Mapping[str, Any], str | Path]],
        numbered: Sequence[str] = (),
        cut_whole: Callable[[int], Sequence[Shard]] | None = None,
    ) -> None:
        """Cut an input into shards, run a job on them, and print a summary.

        Args:
            make_job: A function that returns the job (a dataclass), its settings and the output
                folder, as in `pqpp_files.shards.run_shards`; called after the input is checked.
            numbered: As in `pqpp_files.shards.find_shards`.
            cut_whole: A function that cuts a file that cannot be read in parts into shards of a
                given size.

        Raises:
            PqppError: The input or the output folder is missing, or the output is inside the input.
        """
        from pqpp_files import shards as cut

        if file in (None, "-"):
            raise PqppError("shards need an input file or folder; set `file`")
        if output is None or is_file_name(output):
            raise PqppError(f"{file} is read in shards; set `output` to a folder for the results")
        source, target = map(resolve, (file, output))
        if cut.is_local(output) and source.is_dir() and source in target.parents:
            raise PqppError(f"`output` {output} is inside the input {file}; choose another folder")
        share = self.shard or cut.get_process_share(os.environ)
        cut.select_share((), share)  # checks it before anything is read
        size = self.SHARD_SIZE if self.shard_size is None else self.shard_size
        shards: Any = cut_whole(size) if cut_whole else cut.find_shards(file, size, numbered)
        job, settings, folder = make_job()
        cpus = 1.0 if self.num_cpus is None else self.num_cpus
        resources = cut.RayOptions(cpus, self.num_gpus or 0.0)
        options: Any = {"engine": self.engine or "local", "ray": resources}
        options |= {"workers": self.workers, "progress": sys.stderr.isatty()}
        try:
            summary = cut.run_shards(job, shards, folder, settings, share, **options)
        except KeyboardInterrupt:
            print_notes("finished shards are kept; run the same command again to continue")
            raise
        text = f"wrote {summary.shards} of {len(shards)} shards ({summary.rows} rows) to {output}"
        text += f", {summary.skipped} already existed" if summary.skipped else ""
        text += f"; rows with an error (column `error`): {summary.errors}" if summary.errors else ""
        print(f"pqpp: {text}", file=sys.stderr)


class PushOptions(Group):
    """Options of every push to the Hub."""

    private: bool = option(False, "make a new repository private")
    branch: str | None = option(None, "the branch to push to (default: main)", library="revision")
    dry_run: bool = option(False, "show what would change without changing it")

    def push(self, push_function: Callable, source: str, repository: str) -> None:
        """Call `push_function(source, repository, ...)` with the options, and print its report."""
        options = {"private": self.private, "revision": self.branch, "dry_run": self.dry_run}
        print("\n".join(push_function(source, repository, **options).to_lines()), flush=True)
