"""Folders of every kind, damaged: one typed line, or the answer of the sound one.

A case is a whole number: it chooses a kind of folder, in turn, and one damage of it.
"""

import contextlib
import functools
import io
import re
import shutil
import tempfile
import warnings
from pathlib import Path
from random import Random

import numpy as np
from support.made_assessor import Redness, write_images

from pqpp_cli.main import main
from pqpp_files.errors import PqppError


def by_command(*words):
    """Return what a command prints; what it refuses is raised."""
    said, wrong = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(wrong):
        code = main(list(words))
    lines = [line for line in wrong.getvalue().splitlines() if line.startswith("pqpp: error: ")]
    assert code in (0, 2) and "this should not happen" not in wrong.getvalue(), wrong.getvalue()
    if code == 2:
        raise PqppError("\n".join(lines))
    return said.getvalue()


def checkpoint(folder):
    from models.made_up import made_up

    from pqpp_models.text.ridge.fitting import fit

    prompts, scores = made_up(60)
    fit(prompts, scores[:, 0], ["mean_hbpp"], folds=2).save_pretrained(folder)


def by_checkpoint(folder):
    from pqpp_models import Predictor

    return Predictor.from_pretrained(folder).predict(["a red cat"])


def index(folder):
    from pqpp_engines.index import build_index

    build_index(np.random.default_rng(0).normal(size=(60, 8)), [f"i{n}" for n in range(60)], folder)


def by_index(folder):
    from pqpp_engines.index import Index

    opened = Index(folder)
    places, _ = opened.search(np.ones((1, 8)), 5)
    return [opened.ids[place] for place in places[0]]


def router(folder):
    from pqpp_engines.route import Route, Router, Rule

    routes = [Route("glide", "glide_hbpp", 1), Route("sdxl", "sdxl_hbpp", 4)]
    Router(routes, Rule(budget=2)).save_pretrained(folder)


def by_router(folder):
    from pqpp_engines.route import Router

    return Router.from_pretrained(folder).decide(["a red cat", "two dogs"])


def study(folder):
    from PIL import Image

    from pqpp_annotation.store.database import open_store
    from pqpp_annotation.study.prompts import make_study

    folder.mkdir()
    Image.new("RGB", (8, 6)).save(folder / "a.png")
    (folder / "prompts.csv").write_text("prompt,image\na cat,a.png\na dog,a.png\n")
    open_store(make_study(folder / "study.yaml", folder / "prompts.csv", kind="rating")).close()
    (folder / "prompts.csv").unlink()


def by_study(folder):
    return by_command("annotate", "status", str(folder / "study.yaml"))


def evidence(folder):
    from pqpp_feedback.assess.pictures import find_pictures
    from pqpp_feedback.assess.run import assess

    prompts = write_images(folder.parent / "images", 4)
    pictures, _ = find_pictures(folder.parent / "images", prompts)
    assess(pictures, [Redness()], folder / "verdicts.parquet")


def by_evidence(folder):
    from pqpp_feedback.assess.verdicts import read_verdicts, recompute

    return [
        (row["image"], row["score"])
        for row in recompute(read_verdicts(folder / "verdicts.parquet"), [Redness()])
    ]


def dataset(folder):
    from pqpp_datasets.own_benchmark.build import BuildOptions, build_benchmark
    from pqpp_datasets.own_benchmark.write import write_benchmark

    lines = [f"Prompt {n}.,{n}.png,sdxl,{who},{n % 3}" for n in range(12) for who in ("a", "b")]
    votes = folder.parent / "votes.csv"
    votes.write_text("prompt,image,model,annotator,label\n" + "\n".join(lines) + "\n")
    write_benchmark(build_benchmark(votes, options=BuildOptions(scale="pqpp")), folder)


def by_dataset(folder):
    return by_command("datasets", "show", str(folder))


KINDS = {
    "checkpoint": (checkpoint, by_checkpoint),
    "index": (index, by_index),
    "router": (router, by_router),
    "study": (study, by_study),
    "evidence": (evidence, by_evidence),
    "dataset": (dataset, by_dataset),
}


def damage(folder, draw):
    """Change a file of a folder in one way, and say which and how."""
    path = draw.choice(sorted(one for one in folder.rglob("*") if one.is_file()))
    way, content = draw.choice(list(WAYS)), bytearray(path.read_bytes())
    path.unlink()
    changed = WAYS[way](content, draw)
    if way == "wrong type":
        path.mkdir()
    elif changed is not None:
        path.write_bytes(bytes(changed))
    return f"{path.name}: {way}"


def cut(content, draw):
    return content[: draw.randrange(len(content) or 1)]


def flipped(content, draw):
    for _ in range(draw.choice((1, 1, 3, 20)) if content else 0):
        content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    return content


def huge(content, draw):
    """Put a huge number in the place of one, or of 8 bytes."""
    numbers = list(re.finditer(rb"(?<![\w.])\d+(?![\w.])", bytes(content[:100_000])))
    if numbers and b"\0" not in content:
        at = draw.choice(numbers).span()
        return content[: at[0]] + draw.choice((b"9" * 18, b"9" * 5000, b"1e400")) + content[at[1] :]
    at = draw.randrange(len(content) or 1)
    return content[:at] + b"\xff" * 7 + b"\x7f" + content[at + 8 :]


WAYS = {
    "cut": cut,
    "flipped": flipped,
    "empty": lambda content, draw: b"",
    "wrong type": lambda content, draw: None,
    "other file": lambda content, draw: draw.choice((b"\x89PNG\r\n", b"PAR1PAR1", b"null", b"[]")),
    "deep": lambda content, draw: b'{"a":' * 5000 + b"1" + b"}" * 5000,
    "deeper": lambda content, draw: b"[" * 200_000,
    "huge": huge,
    "missing": lambda content, draw: None,
}


def fault_of(case: int) -> str | None:
    """Read the damaged folder of a case, and say in one line what is wrong, if anything."""
    kind = list(KINDS)[case % len(KINDS)]
    folder, answer = _sound(kind)
    with tempfile.TemporaryDirectory(prefix="pqpp-folder-") as beside:
        place = Path(beside) / kind
        shutil.copytree(folder, place)
        how = damage(place, Random(f"{kind} {case // len(KINDS)}"))
        fault = _read(kind, place, answer)
    return fault and f"{fault} [{kind}, {how}]"


def _read(kind, place, answer):
    """Return what is wrong with how a folder is read."""
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            other = KINDS[kind][1](place)
    except PqppError as error:
        is_line = "\n" not in str(error) and len(str(error)) >= 10
        return None if is_line else f"untyped error: not one line: {error}"
    except Exception as error:
        return f"untyped error: {type(error).__name__}: {error!s:.100}"
    for one in warned:
        if "Resource" not in one.category.__name__:
            return f"noise: {one.message}"
    return None if np.array_equal(other, answer) else "wrong answer"


@functools.cache
def _sound(kind):
    """Return a sound folder of a kind and its answer, made when it is first asked for."""
    folder = Path(_room().name) / kind / kind
    folder.parent.mkdir()
    KINDS[kind][0](folder)
    return folder, KINDS[kind][1](folder)


@functools.cache
def _room():
    """Return a folder that goes with this process."""
    return tempfile.TemporaryDirectory(prefix="pqpp-folders-")
