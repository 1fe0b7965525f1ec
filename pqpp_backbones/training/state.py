"""Checkpoints of a running training: whole at every moment, whatever kills the process."""

import contextlib
import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from pqpp_files.foreign.json_values import parse_json, read_json
from pqpp_files.options.option import RecipeError
from pqpp_files.write_beside import remove_litter, whole_folder

PROGRESS, BEST = "progress.json", "best.safetensors"


@dataclass
class Progress:
    """How far a training has come.

    Attributes:
        epoch: The epoch under way, from 0.
        batch: Batches of that epoch that this many processes have each used.
        best_epoch: The epoch with the best validation Kendall; -1 before there is one.
        stalled: Epochs since.
        history: The metrics of each finished epoch.
        seconds: Time spent in steps and evaluations, over all runs.
    """

    epoch: int = 0
    batch: int = 0
    step: int = 0
    best_epoch: int = -1
    stalled: int = 0
    history: list[dict[str, float]] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def best(self) -> dict[str, float] | None:
        """The metrics of the best epoch, None before there is one."""
        return self.history[self.best_epoch] if self.best_epoch >= 0 else None


class Checkpoints:
    """The checkpoints in a folder, of which the newest is kept.

    Args:
        identity: What decides the weights; a checkpoint of another identity is refused.
    """

    def __init__(self, folder: Path, identity: Mapping[str, Any]) -> None:
        self.folder = folder
        # Through JSON once, so that tuples compare equal to what is read back.
        self.identity = parse_json(json.dumps(dict(identity)))

    def newest(self) -> Path | None:
        """Return the newest whole checkpoint."""
        checkpoints = [path for path in self.folder.glob("step-*") if (path / PROGRESS).is_file()]
        return max(checkpoints, key=lambda path: int(path.name.split("-")[1]), default=None)

    def save(self, accelerator: Any, progress: Progress) -> None:
        """Write a checkpoint beside, rename it, and drop the older ones.

        Every process must call this.
        """
        from accelerate.utils import broadcast_object_list

        place = self.folder / f"step-{progress.step}"
        is_main = accelerator.is_main_process
        with whole_folder(place) if is_main else contextlib.nullcontext() as new:
            (beside,) = broadcast_object_list([str(new)])
            accelerator.save_state(beside)
            accelerator.wait_for_everyone()
            if new is not None:
                content = {"identity": self.identity, "progress": asdict(progress)}
                (new / PROGRESS).write_text(json.dumps(content), encoding="utf-8")
        if is_main:
            for path in [*self.folder.glob("step-*"), *self.folder.glob(".step-*")]:
                if path != place:
                    shutil.rmtree(path, ignore_errors=True)
        accelerator.wait_for_everyone()

    def load(self, accelerator: Any) -> Progress:
        """Bring every prepared object back to the newest checkpoint; a fresh start has none.

        Raises:
            RecipeError: The checkpoint was made by another recipe, data or number of processes.
        """
        if accelerator.is_main_process:
            remove_litter(self.folder, of_others=True)
        accelerator.wait_for_everyone()
        newest = self.newest()
        if newest is None:
            return Progress()
        content = read_json(newest / PROGRESS, RecipeError, "remove that folder")
        self._check(newest, content["identity"])
        accelerator.load_state(str(newest))
        return Progress(**content["progress"])

    def _check(self, newest: Path, theirs: Mapping[str, Any]) -> None:
        names = theirs.keys() & self.identity.keys()  # other versions had other options
        changed = sorted(n for n in names if theirs.get(n) != self.identity.get(n))
        if changed:
            name = changed[0]
            raise RecipeError(
                f"{newest} was made with `{name}` {theirs.get(name)!r}, now it is "
                f"{self.identity.get(name)!r}; resume with the same recipe, or name another "
                "output_dir"
            )


@contextlib.contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Keep a second training out of a folder while a block runs; a killed one keeps nobody out.

    Raises:
        RecipeError: Another training is under way there.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> with alone_in(folder), alone_in(folder):
        ...     pass
        Traceback (most recent call last):
            ...
        pqpp_files.options.option.RecipeError: another training writes to ...; wait for it, ...
    """
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(str(folder / ".training.lock"))
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise RecipeError(
            f"another training writes to {folder}; wait for it, or name another output"
        ) from None
    try:
        yield
    finally:
        Path(lock.lock_file).unlink(missing_ok=True)
        lock.release()
