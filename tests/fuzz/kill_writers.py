"""The commands that write, with their inputs, which `fuzz_kills` kills."""

import functools
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

_COLOURS = ("red", "blue", "green", "black", "white")
_THINGS = ("cat", "dog", "bus", "bird", "clock", "wave", "tree", "boat")


@dataclass(frozen=True)
class Writer:
    """A command that writes.

    Attributes:
        output: The name of its output.
        run: Runs it, in the folder of its inputs; its argument is `old` or `new`.
        way: `whole`: the old or the new output exists. `resumed`: the results of a killed run
            stay, and the next run continues. `new`: it refuses to replace an output, and writes
            the file `last` at its end.
        last: See `way`.
        prepare: Writes inputs of this command alone.
    """

    output: str
    run: Callable[[str], object]
    way: str = "whole"
    last: str = ""
    prepare: Callable[[Path], object] = lambda room: None


def _command(*arguments: str) -> Callable[[str], object]:
    """Return a function that runs the command line, `{}` in it being the version."""

    def run(version: str) -> int:
        from pqpp_cli.main import main

        return main([argument.format(version) for argument in arguments])

    return run


def _generate(*words: str) -> Callable[[str], object]:
    return _command(
        *("generate", *words, "--model-name", "drawn", "--file", "asked_{}.csv"),
        *("--images-per-prompt", "1", *_FOLDERS),
    )


def _copy_slow_inputs(room: Path) -> None:
    shutil.copytree(_make_slow_inputs(), room, dirs_exist_ok=True)


_with_slow_inputs = functools.partial(Writer, prepare=_copy_slow_inputs)


def _assess(version: str) -> None:
    """Assess images by a test's assessor; the real ones load networks, which fails in forks."""
    from support.redness import Redness

    from pqpp_feedback.assess.pictures import find_pictures
    from pqpp_feedback.assess.run import assess

    pictures, _ = find_pictures(Path("judged"), _judged(version))
    assess(pictures, [Redness()], Path("written") / "verdicts.parquet")


def _judged(version: str) -> list[dict]:
    return [{"prompt_id": n, "prompt": f"{version} {n}", "task": "colour"} for n in range(40)]


_FOLDERS = ("--output", "written")
_DRAW = "cp images/{{prompt}}.png {{output}}"
_ROUTES = ("--targets", "glide_hbpp,sdxl_hbpp", "--cost", "1,4", "--share", ".5")
_ROUTES += ("--calibration", "prompts_{}.csv", "--overwrite")
_FIT = ("fit", "ratings_{}.csv", "--targets", "rating", "--overwrite")
_BENCH = ("bench", "--dataset", "scores_{}.csv", "--targets", "mean_hbpp", "--predictors", "static")
WRITERS = {
    "predict": Writer(
        "scores.csv", _command("predict", "--file", "prompts_{}.csv", "--output", "scores.csv")
    ),
    "fit": Writer("written", _command(*_FIT, *_FOLDERS)),
    "build": Writer("written", _command("build", "votes_{}.csv", "--overwrite", *_FOLDERS)),
    "select": Writer(
        "chosen.txt",
        _command(
            *("datasets", "select", "captions_{}.txt", "--count", "3"),
            *("--embeddings", "vectors.npy", "--output", "chosen.txt"),
        ),
    ),
    "bench report": Writer("page.html", _command(*_BENCH, "--report", "page.html")),
    "predict shards": Writer(
        "written",
        _command("predict", "--file", "prompts_{}.csv", "--shard-size", "9", *_FOLDERS),
        "resumed",
    ),
    "generate": _with_slow_inputs("written", _generate("--command", _DRAW), "resumed"),
    "search build": _with_slow_inputs(
        "written", _command("search", "build", "e_{}.npy", "--overwrite", *_FOLDERS)
    ),
    "route fit": _with_slow_inputs("written", _command("route", "fit", *_ROUTES, *_FOLDERS)),
    "assess": _with_slow_inputs("written", _assess, "resumed"),
    "annotate init": Writer(
        "written",
        _command(
            *("annotate", "init", "written/study.yaml", "--file", "asked_{}.csv"),
            *("--image-dir", "images", "--kind", "rating"),
        ),
        "new",
        "written/study.yaml",
        lambda room: (_copy_slow_inputs(room), (room / "written").mkdir()),
    ),
    "annotate export": _with_slow_inputs(
        "written", _command("annotate", "export", "study_{}/study.yaml", *_FOLDERS)
    ),
}


def write_inputs(room: Path) -> None:
    """Write the inputs of all commands to a folder."""
    for seed, version in enumerate(("old", "new")):
        random = np.random.default_rng(seed)
        texts = [f"a {a} {b}" for a in _COLOURS for b in _THINGS]
        random.shuffle(texts)
        rows = "".join(f"{text},{random.random():.3f}\n" for text in texts)
        (room / f"prompts_{version}.csv").write_text("prompt,number\n" + rows)
        (room / f"ratings_{version}.csv").write_text("prompt,rating\n" + rows)
        (room / f"scores_{version}.csv").write_text("prompt,mean_hbpp\n" + rows)
        (room / f"captions_{version}.txt").write_text("\n".join(texts) + "\n")
        votes = "".join(
            f"{text},{n}.png,sdxl,ann,{n % 4 - 1},mscoco\n" for n, text in enumerate(texts)
        )
        (room / f"votes_{version}.csv").write_text(
            "prompt,image,model,annotator,label,source\n" + votes
        )
        prompts = "".join(f"{n},dog{n},dog{n}.png\n" for n in range(3 + seed))
        (room / f"asked_{version}.csv").write_text("prompt_id,prompt,image\n" + prompts)
        np.save(room / f"e_{version}.npy", random.normal(size=(30, 8)).astype(np.float32))
    np.save(room / "vectors.npy", np.random.default_rng(2).normal(size=(40, 4)))


@functools.cache
def _make_slow_inputs() -> Path:
    """Return a folder of inputs that are slow to make, and are copied for each case."""
    from PIL import Image
    from support.redness import write_images
    from support.studies import answer_all, write_study

    from pqpp_annotation.store.database import open_store
    from pqpp_annotation.store.people import add_person

    folder = get_shared_folder() / "shelf"
    (folder / "images").mkdir(parents=True)
    for number in range(4):
        Image.new("RGB", (8, 6), (number, 0, 0)).save(folder / "images" / f"dog{number}.png")
    write_images(folder / "judged", 40, ("sdxl",))
    for people, version in enumerate(("old", "new"), 1):
        study_folder = folder / f"study_{version}"
        study_folder.mkdir()
        store = open_store(write_study(study_folder, "rating", prompts=2))
        for person in range(people):
            answer_all(store, add_person(store, f"p{person}").id)
        store.close()
    return folder


@functools.cache
def get_shared_folder() -> Path:
    """Return a folder for the outputs of undisturbed runs, removed at the end of the process."""
    temporary = tempfile.TemporaryDirectory(prefix="pqpp-kill-")
    _TEMPORARY_FOLDERS.append(temporary)
    return Path(temporary.name)


_TEMPORARY_FOLDERS: list[tempfile.TemporaryDirectory] = []
