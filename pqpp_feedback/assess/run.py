"""Assess pictures and write a table of verdicts, in shards that survive an interruption.

The shards are in `.NAME.parts/` next to the table, in a folder whose name is a hash of everything
that the result depends on; a rerun with the same inputs and settings reuses them. Under `accelerate
launch`, each process computes its share of the shards, and the last process merges them. Use
`AssessmentJob` to run the shards yourself.
"""

import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from pqpp_backbones.errors import ModelError
from pqpp_feedback.assess import verdicts as stored
from pqpp_feedback.assess.assessor import Assessor, Verdict, format_evidence, get_settings
from pqpp_feedback.assess.pictures import Picture, find_images
from pqpp_feedback.errors import FeedbackError
from pqpp_files.atomic_write import lock_folder
from pqpp_files.errors import MissingExtraError, describe
from pqpp_files.foreign.json_values import parse_json
from pqpp_files.hashes import hash_parts
from pqpp_files.paths import expand
from pqpp_files.shards import ERROR, cut_table, get_process_share, run_shards
from pqpp_files.shards.cells import get_ids, get_texts, replace_invalid_utf8

SHARD_SIZE = 32  # images per shard, the most that a killed run loses

Result = tuple[str | None, Verdict]  # the evidence as JSON, or None, and the verdict


@dataclass
class AssessmentSummary:
    """The counts of an assessment run.

    Attributes:
        images: Number of images that this process assessed; other images were assessed in earlier
            runs or by other processes.
        rows: Number of rows written; 0 if shards are still missing.
        missing: Number of shards that other processes or later runs must still compute.
        seconds: Total time of observing and scoring.
    """

    images: int = 0
    rows: int = 0
    missing: int = 0
    seconds: float = 0.0

    def to_lines(self) -> list[str]:
        """Return the summary in words, one line each."""
        lines = []
        if self.images:
            total = f"{self.images} images in {self.seconds:.1f} s"
            lines.append(f"{total}, {self.images / self.seconds:.2f} images per second")
        if self.missing:
            lines.append(f"{self.missing} shards are left for other processes or the next run")
        return lines


def assess(
    pictures: Sequence[Picture],
    assessors: Sequence[Assessor],
    output: str | Path,
    batch_size: int = 16,
    progress: bool = False,
    share: str | None = None,
    replace: bool = False,
) -> AssessmentSummary:
    """Assess images, and write a table with one row per image and assessor.

    The table's bytes depend only on the images, prompts, models and settings. They do not depend on
    the order of the pictures, the batch size, the number of processes, or interruptions.

    Args:
        output: The table to write, as in `write_verdicts`.
        batch_size: Number of images in memory, and per call of an assessor.
        progress: Whether to show a progress bar on standard error.
        share: `I/N`, the share of this process; default: that of `accelerate launch`.
        replace: Whether to replace other assessors' verdicts in the table.

    Raises:
        FeedbackError: The file is not a table of verdicts, or contains other assessors' verdicts.
        ServiceError: The run would exceed the budget.
        OSError: The table or its parts cannot be written.

    Example:
        >>> import tempfile
        >>> from pqpp_feedback.gimbrr.assessor import GimbrrAssessor
        >>> from pqpp_feedback.gimbrr.published import PublishedRoutine
        >>> folder = Path(tempfile.mkdtemp())
        >>> pictures = [Picture(folder / "a.png", "", "a.png", problem="has no prompt")]
        >>> assess(pictures, [GimbrrAssessor(PublishedRoutine())], folder / "verdicts.parquet").rows
        1
    """
    path = expand(output).absolute()
    identities = [stored.get_model_columns(assessor) for assessor in assessors]

    def refuse_other_verdicts() -> None:
        read = stored.read_verdicts(path) if path.is_file() else ()
        rows = ({name: row[name] for name in identities[0]} for row in read)
        other = next((row for row in rows if row not in identities), None)
        if other and not replace:
            problem = f"{path} contains verdicts of {other['routine']} by {other['model']:.100}"
            raise FeedbackError(f"{problem}; use another file, or set `replace`")

    refuse_other_verdicts()
    for assessor in assessors:
        assessor.prepare(pictures)
    ordered = sorted(pictures, key=lambda picture: picture.image_id)
    folder = path.with_name(f".{path.name}.parts") / hash_inputs(ordered, assessors)[:24]
    shards = cut_table(pa.table({"picture": range(len(ordered))}), SHARD_SIZE)

    def compute(rows: pa.Table) -> pa.Table:
        batch = [ordered[number] for number in rows["picture"].to_pylist()]
        return stored.make_table(list(assess_rows(batch, assessors, batch_size)))

    start = time.perf_counter()
    share = share or get_process_share(os.environ)
    images = run_shards(compute, shards, folder, {}, share, progress=progress).rows
    summary = AssessmentSummary(images, seconds=time.perf_counter() - start)
    files = [folder / shard.name for shard in shards]
    summary.missing = sum(not file.is_file() for file in files)
    if not summary.missing:
        with lock_folder(path.parent):  # another run may have written verdicts since
            refuse_other_verdicts()
            summary.rows = _merge_parts(files, path)
    return summary


def _merge_parts(files: Sequence[Path], path: Path) -> int:
    """Merge the parts into the table, remove them, and return the number of rows."""
    rows = (row for file in files for row in pa.parquet.read_table(file).to_pylist())
    folder = files[0].parent
    try:
        count = stored.write_verdicts(path, rows)
        for file in files:  # first, because shards without their plan are refused
            file.unlink(missing_ok=True)
        shutil.rmtree(folder, ignore_errors=True)
        if not any(folder.parent.iterdir()):  # it may contain parts of runs with other settings
            folder.parent.rmdir()
    except FileNotFoundError:  # another process has merged them at the same time
        return 0
    return count


def hash_inputs(pictures: Sequence[Picture], assessors: Sequence[Assessor]) -> str:
    """Return a hash of everything on which the rows depend, including files' sizes and times.

    Example:
        >>> one, other = (Picture(Path("a.png"), prompt, "a.png") for prompt in ("a cat", "a dog"))
        >>> hash_inputs([one], []) == hash_inputs([other], [])
        False
    """

    def yield_parts() -> Iterator[str]:
        yield format_evidence(get_settings(assessors))
        columns = {name for assessor in assessors for name in assessor.columns}
        for picture in pictures:
            about = {name: picture.about[name] for name in columns if name in picture.about}
            status = picture.path.stat() if picture.path.is_file() else None
            version = (status.st_size, status.st_mtime_ns) if status else None
            source = picture.image_id, picture.prompt_id, picture.prompt, picture.generator
            yield format_evidence([*source, picture.problem, about, version]) + "\n"

    return hash_parts(yield_parts())


def assess_rows(
    pictures: Sequence[Picture], assessors: Sequence[Assessor], batch_size: int
) -> Iterator[dict[str, Any]]:
    """Yield one row per image and assessor, in the order of the images."""
    for start in range(0, len(pictures), batch_size):
        batch = pictures[start : start + batch_size]
        pairs: list[tuple[Any, Picture]] = []
        failures: dict[int, Result] = {}
        for number, picture in enumerate(batch):
            try:
                pairs.append((picture.open(), picture))
            except FeedbackError as error:
                failures[number] = None, Verdict(None, None, str(error))
        results = [iter(_assess_batch(assessor, pairs)) for assessor in assessors]
        for number, picture in enumerate(batch):
            for assessor, verdicts in zip(assessors, results, strict=True):
                evidence, verdict = failures.get(number) or next(verdicts)
                yield stored.make_row(picture, assessor, evidence, verdict)


def _assess_batch(assessor: Assessor, pairs: Sequence[tuple[Any, Picture]]) -> list[Result]:
    """Return the evidence and verdict of each image; after a failure, try each image alone."""
    if not pairs:
        return []
    if len(pairs) > 1 and assessor.is_one_by_one:
        return _assess_each(assessor, pairs)
    images, pictures = zip(*pairs, strict=True)
    try:
        texts = [format_evidence(evidence) for evidence in assessor.observe(images, pictures)]
        # Score the stored form of the evidence, so that rescoring gives the same numbers.
        return [
            (text, assessor.score(parse_json(text), picture))
            for text, picture in zip(texts, pictures, strict=True)
        ]
    except FeedbackError as error:
        reason = str(error)
    except Exception as error:  # models raise errors of many types for odd images
        is_model_error = isinstance(error, ModelError | MissingExtraError)
        if is_model_error and not getattr(error, "affects_one_request", False):
            raise  # other images would also fail
        reason = describe(error)
    if len(pairs) > 1:
        return _assess_each(assessor, pairs)
    return [(None, Verdict(None, None, f"the image cannot be assessed: {reason}"))]


def _assess_each(assessor: Assessor, pairs: Sequence[tuple[Any, Picture]]) -> list[Result]:
    return [result for pair in pairs for result in _assess_batch(assessor, [pair])]


@dataclass
class AssessmentJob:
    """A job of `pqpp_files.shards` that assesses the images of prompts.

    Args:
        load_assessors: A function that loads the assessors; it is called before the first shard.
        image_dir: The folder of images `{prompt_id}/{model}_{i}.png`.
        column: The prompt column; the ids are in `prompt_id`.
        batch_size: Images per call of an assessor.

    Returns:
        The columns of a table of verdicts, and `error`, the reason why an image has no evidence.
        For a prompt without images, without text or with an invalid id, there is one row without an
        image.

    Example:
        >>> import pyarrow as pa, tempfile
        >>> from pqpp_feedback.gimbrr.assessor import GimbrrAssessor
        >>> from pqpp_feedback.gimbrr.published import PublishedRoutine
        >>> job = AssessmentJob(lambda: [GimbrrAssessor(PublishedRoutine())], tempfile.mkdtemp())
        >>> job(pa.table({"prompt_id": [7], "prompt": ["a cat"]}))["error"].to_pylist()
        ['the image is missing: the prompt has no image']
    """

    load_assessors: Callable[[], Sequence[Assessor]]
    image_dir: str
    column: str = "prompt"
    batch_size: int = 16

    @cached_property
    def assessors(self) -> Sequence[Assessor]:
        """The loaded assessors."""
        return self.load_assessors()

    @property
    def settings(self) -> dict[str, Any]:
        """The settings on which rows depend besides prompts and images."""
        return {"job": "assess", "column": self.column, "assessors": get_settings(self.assessors)}

    def __call__(self, table: pa.Table) -> pa.Table:
        """Return the verdicts on the images of a shard."""
        rows = list(assess_rows(self.to_pictures(table), self.assessors, self.batch_size))
        errors = [None if row["evidence"] is not None else row["reason"] for row in rows]
        return stored.make_table(rows).append_column(ERROR, pa.array(errors, pa.string()))

    def to_pictures(self, table: pa.Table) -> list[Picture]:
        """Return the pictures of prompts; a prompt without images has one that gives the reason."""
        texts, faults = get_texts(table, self.column, "prompt", "set `column` to the prompt column")
        ids, id_faults = get_ids(table, "prompt_id")
        columns = replace_invalid_utf8(table).to_pylist(), ids, texts, id_faults, faults
        pictures: list[Picture] = []
        for row, prompt_id, text, *row_faults in zip(*columns, strict=True):
            problem = next((f"was not looked for: {fault}" for fault in row_faults if fault), "")
            prompt = {**row, "prompt_id": prompt_id, "prompt": text}
            matches = [] if problem else find_images(self.image_dir, prompt)
            problem = problem or "is missing: the prompt has no image"
            pictures += matches or [Picture(Path(), text, "", prompt_id, problem=problem)]
        return pictures
