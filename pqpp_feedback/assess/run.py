"""One run: pictures through assessors to a table, in shards that a killed run leaves behind.

The shards lie beside the table, in `.NAME.parts/`, in a folder called by what the result depends
on, and the next run of the same kind takes them over. Several processes, as `accelerate launch`
starts them, take turns at them, and the first one joins them.
"""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pqpp_feedback.assess.assessor import Assessor, Verdict, evidence_text
from pqpp_feedback.assess.errors import AssessError, ImageError
from pqpp_feedback.assess.pictures import Picture, open_picture
from pqpp_feedback.assess.verdicts import verdict_row, verdict_table, write_verdicts
from pqpp_files.hashes import sha256_of_parts
from pqpp_files.shards import hold_shards, launched_share, parts_of_share, run_shards, share_of

if TYPE_CHECKING:
    import pyarrow as pa

PART = 32
"""Images in a part: what a killed run loses at most."""
_POLL_SECONDS = 0.2
_BEAT_SECONDS = 5.0
_PATIENCE_SECONDS = 300.0


@dataclass
class Ran:
    """What a run has done.

    Attributes:
        images: How many this process looked at; the others were there from an earlier run.
        rows: How many were written; 0 in all processes but the first.
        seconds: How long looking and scoring took.
        perceived: Role of a model to its seconds.
    """

    images: int = 0
    rows: int = 0
    seconds: float = 0.0
    perceived: dict[str, float] = field(default_factory=dict)

    def lines(self) -> list[str]:
        """Return it in words, a line each."""
        if not self.images:
            return []
        rate = self.images / self.seconds
        said = [f"{self.images} images in {self.seconds:.1f} s, {rate:.2f} images a second"]
        for role, seconds in sorted(self.perceived.items()):
            said.append(f"{role}: {seconds / self.images:.4f} s an image")
        return said


def assess(
    pictures: Sequence[Picture],
    assessors: Sequence[Assessor],
    output: str | Path,
    batch_size: int = 16,
    progress: bool = False,
    processes: tuple[int, int] | None = None,
) -> Ran:
    """Assess images, and write a table with a row for each image and assessor.

    The table's bytes depend on the images, prompts, models and settings alone: not on the order of
    the pictures, on the batch size, on how many processes there were or how often they were killed.

    Args:
        pictures: What to assess.
        assessors: Who assesses.
        output: The table, Parquet.
        batch_size: How many images are in memory, and are handed to an assessor, at once.
        progress: Whether a bar on standard error shows images a second.
        processes: The number of this process and of all; those of `accelerate launch` if None.

    Raises:
        AssessError: There is no picture or no assessor, an image's id stands twice,
            `batch_size` is no number of images, or another process gave no sign of life for five
            minutes before its parts were done.
        OSError: The table or its parts cannot be written.

    Example:
        >>> import tempfile
        >>> from pqpp_feedback.gimbrr.assessor import GimbrrAssessor
        >>> from pqpp_feedback.gimbrr.routines.published import Published
        >>> folder = Path(tempfile.mkdtemp())
        >>> pictures = [Picture(folder / "a.png", "", "a.png", problem="has no prompt")]
        >>> assess(pictures, [GimbrrAssessor(Published())], folder / "verdicts.parquet").rows
        1
    """
    import pyarrow as pa
    from tqdm import tqdm

    _check(pictures, assessors, batch_size)
    rank, world = processes or parts_of_share(launched_share(os.environ))
    ordered = sorted(pictures, key=lambda one: one.image_id)
    place = Path(output).expanduser().absolute()
    folder = place.with_name(f".{place.name}.parts") / fingerprint(ordered, assessors)[:24]
    folder.mkdir(parents=True, exist_ok=True)
    parts = hold_shards(pa.table({"picture": range(len(ordered))}), PART)
    share, files = f"{rank}/{world}", [folder / one.name for one in parts]
    ran, start = Ran(), time.perf_counter()
    own = sum(one.rows for one in share_of(parts, share) if not (folder / one.name).is_file())
    bar = tqdm(total=own, unit=" images", disable=not progress)

    def job(rows: pa.Table) -> pa.Table:
        some = [ordered[number] for number in rows["picture"].to_pylist()]
        return verdict_table(list(assessed_rows(some, assessors, batch_size, bar.update)))

    with bar, _beating(folder / f"{rank}.beat", world > 1):
        ran.images = run_shards(job, parts, folder, {}, share, beside=("*.beat",)).rows
    ran.seconds = time.perf_counter() - start
    for one in assessors:
        for role, seconds in one.seconds.items():
            ran.perceived[role] = ran.perceived.get(role, 0.0) + seconds
    if rank == 0:
        _wait_for(files)
        ran.rows = _joined(files, place)
    return ran


def _joined(files: Sequence[Path], place: Path) -> int:
    """Write all parts as the table, remove them, and return the number of rows."""
    import pyarrow.parquet

    rows = (row for file in files for row in pyarrow.parquet.read_table(file).to_pylist())
    count = write_verdicts(place, rows)
    folder = files[0].parent
    shutil.rmtree(folder, ignore_errors=True)
    if not any(folder.parent.iterdir()):  # parts of a run with other settings stay
        folder.parent.rmdir()
    return count


def fingerprint(pictures: Sequence[Picture], assessors: Sequence[Assessor]) -> str:
    """Return a digest of all that the rows depend on, files' sizes and times in place of pixels.

    Example:
        >>> one, other = (Picture(Path("a.png"), prompt, "a.png") for prompt in ("a cat", "a dog"))
        >>> fingerprint([one], []) == fingerprint([other], [])
        False
    """

    def told() -> Iterator[str]:
        for assessor in assessors:
            used = assessor.models
            models = {role: [model.name, model.revision] for role, model in used.items()}
            yield evidence_text([assessor.name, assessor.routine, models, assessor.settings])
        columns = {name for assessor in assessors for name in assessor.columns}
        for one in pictures:
            about = {name: one.about[name] for name in sorted(columns) if name in one.about}
            found = one.path.stat() if one.path.is_file() else None
            stamp = (found.st_size, found.st_mtime_ns) if found else None
            asked = [one.image_id, one.prompt_id, one.prompt, one.generator, one.problem]
            yield evidence_text([*asked, about, stamp]) + "\n"

    return sha256_of_parts(told())


def _check(pictures: Sequence[Picture], assessors: Sequence[Assessor], batch_size: int) -> None:
    if not pictures or not assessors:
        raise AssessError("there is no image or no assessor; give at least one of each")
    if batch_size < 1:
        raise AssessError(f"`batch_size` is {batch_size!r}; it must be 1 or more")
    seen: set[str] = set()
    for one in pictures:
        if one.image_id in seen:
            raise AssessError(f"the image {one.image_id!r} stands twice; give each its own id")
        seen.add(one.image_id)


def assessed_rows(
    pictures: Sequence[Picture],
    assessors: Sequence[Assessor],
    batch_size: int,
    tell: Callable[[int], Any] = lambda images: None,
) -> Iterator[dict[str, Any]]:
    """Give the rows of images in their order, an assessor after the other; `tell` counts images."""
    for start in range(0, len(pictures), batch_size):
        some = pictures[start : start + batch_size]
        images, problems = _opened(some)
        whole = [n for n in range(len(some)) if problems[n] is None]
        judged: list[list[tuple[str | None, Verdict]]] = []
        for assessor in assessors:
            told: list[tuple[str | None, Verdict]] = [
                (None, Verdict(None, None, problem or "")) for problem in problems
            ]
            looked = _looked(assessor, [images[n] for n in whole], [some[n] for n in whole])
            for n, one in zip(whole, looked, strict=True):
                told[n] = one
            judged.append(told)
        for n, picture in enumerate(some):
            for assessor, told in zip(assessors, judged, strict=True):
                yield verdict_row(picture, assessor, *told[n])
        tell(len(some))


def _opened(pictures: Sequence[Picture]) -> tuple[list[Any], list[str | None]]:
    images: list[Any] = []
    problems: list[str | None] = []
    for one in pictures:
        image, problem = None, f"the image {one.problem}" if one.problem else None
        if problem is None:
            try:
                image = open_picture(one.path)
            except ImageError as error:
                problem = f"the image cannot be assessed: {error}"
        images.append(image)
        problems.append(problem)
    return images, problems


def _looked(
    assessor: Assessor, images: Sequence[Any], pictures: Sequence[Picture]
) -> list[tuple[str | None, Verdict]]:
    """Return evidence and verdict of each image; one that cannot be assessed stops no other."""
    if not images:
        return []
    try:
        found = assessor.perceive(images, pictures)
    except ImageError as error:
        if len(images) == 1:
            return [(None, Verdict(None, None, f"the image cannot be assessed: {error}"))]
        return [
            one
            for image, picture in zip(images, pictures, strict=True)
            for one in _looked(assessor, [image], [picture])
        ]
    judged: list[tuple[str | None, Verdict]] = []
    for evidence, picture in zip(found, pictures, strict=True):
        text = evidence_text(evidence)
        # From what is kept, so that it can be computed again to the same number.
        judged.append((text, assessor.score(json.loads(text), picture)))
    return judged


@contextmanager
def _beating(sign: Path, wanted: bool) -> Iterator[None]:
    """Touch a file every few seconds while there is work: another process may wait for it."""
    done = threading.Event()

    def beat() -> None:
        while not done.is_set():
            try:
                sign.touch()
            except OSError:
                return  # the first process has joined the parts and removed their folder
            done.wait(_BEAT_SECONDS)

    if wanted:
        threading.Thread(target=beat, daemon=True).start()
    try:
        yield
    finally:
        done.set()


def _wait_for(files: Sequence[Path]) -> None:
    """Wait until other processes have written their parts, as long as one of them is alive."""
    folder, seen, since = files[0].parent, None, time.monotonic()
    while missing := [file for file in files if not file.is_file()]:
        # Signs are compared with one another, not with the clock, which differs among machines.
        signs = sorted((one.name, one.stat().st_mtime_ns) for one in folder.glob("*.beat"))
        if (len(missing), signs) != seen:
            seen, since = (len(missing), signs), time.monotonic()
        elif time.monotonic() - since > _PATIENCE_SECONDS:
            raise AssessError(
                f"{len(missing)} of {len(files)} parts are missing, and no other process gave a "
                f"sign of life for {_PATIENCE_SECONDS:g} s; run it again: what is done is kept"
            )
        time.sleep(_POLL_SECONDS)
