"""A run that is killed at any step leaves the old or the new, whole, and the next run no litter."""

import json
import os
import subprocess
import sys

import pytest

# Forks a run for each step and kills it there: before the n-th thing that it asks of the system.
KILLING = """
import itertools, json, os, pathlib, signal, sys

from pqpp_files import write_beside as module
from pqpp_files.write_beside import write_whole

kind = sys.argv[1]
here = pathlib.Path("here")
here.mkdir()
place = here / "it"

if kind == "file":
    def write(text):
        write_whole(place, text)
elif kind == "folder":
    def write(text):
        with module.whole_folder(place) as new:
            (new / "inner").mkdir()
            for name in ("a", "inner/b"):
                (new / name).write_text(text)
elif kind == "predictor":
    from pqpp_backbones.checkpoint import write_checkpoint
    import numpy, safetensors.numpy
    def write(text):
        tensors = {"a": numpy.full(9, len(text))}
        files = {"vocab.txt": text.encode()}
        write_checkpoint(place, {"predictor_type": "x", "v": text}, tensors, text, files)
elif kind in ("index", "grown index"):
    import numpy
    from pqpp_engines.index import build_index
    def write(text):
        names = [f"{text} {number}" for number in range(3)]
        if kind == "index":
            build_index(numpy.eye(3, 8), names, place)
        else:
            base.add(numpy.eye(3, 8), names, place)
    base = build_index(numpy.eye(4, 8), list("abcd"), "base")
else:
    import pyarrow, pyarrow.parquet
    from pqpp_datasets.export.parquet_folder import export_folder, write_split
    def write(text):
        with export_folder(place) as new:
            write_split(new / "data", "train", [pyarrow.table({"a": [text]})])
            (new / "README.md").write_text(text)


def held():
    if place.is_file():
        return place.read_bytes()
    found = sorted(path for path in place.rglob("*") if path.is_file())
    return [(str(path), path.read_bytes()) for path in found]


def run(text, step=None):
    process = os.fork()
    if process == 0:
        count = itertools.count(1)
        def hook(event, _):
            if event.startswith(("os.", "open", "shutil.", "ctypes.")) and next(count) == step:
                os.kill(os.getpid(), signal.SIGKILL)
        if step:
            sys.addaudithook(hook)
        write(text)
        os._exit(0)
    return os.waitpid(process, 0)[1]


write("another")  # whatever is imported late
module._TIDIED.clear()
whole = {"another": held()}
assert run("old") == 0
whole["old"] = held()
seen = []
for step in itertools.count(1):
    was_killed = run("another", step)
    if not was_killed:
        break
    found = next((text for text, one in whole.items() if one == held()), "broken")
    seen.append(found)
    assert run("old") == 0
    assert held() == whole["old"], "the next run"
    assert os.listdir(here) == ["it"], os.listdir(here)
print(json.dumps(seen))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="steps are killed in forks")
@pytest.mark.parametrize(
    "kind",
    [
        "file",
        "folder",
        "predictor",
        pytest.param("grown index", marks=pytest.mark.daily),
        *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("export", "index")),
    ],
)
def test_kills_at_every_step(tmp_path, kind):
    if "index" in kind:
        pytest.importorskip("faiss")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", KILLING, kind],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr[-800:]
    seen = json.loads(done.stdout)
    assert len(seen) > 5 and {"old", "another"} <= set(seen)
    if kind == "file":
        assert "broken" not in seen  # else for a moment between the renames, which the next mends
