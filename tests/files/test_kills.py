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

kind, can_exchange = sys.argv[1], sys.argv[2] == "exchange"
if not can_exchange:
    module._exchange = lambda *_: False
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
    from pqpp_models.checkpoint import write_checkpoint
    import numpy, safetensors.numpy
    def write(text):
        tensors = {"a": numpy.full(9, len(text))}
        files = {"vocab.txt": text.encode()}
        write_checkpoint(place, {"predictor_type": "x", "v": text}, tensors, text, files)
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
@pytest.mark.parametrize("way", ["exchange", "two renames"])
@pytest.mark.parametrize("kind", ["file", "folder", "predictor", "export"])
def test_kills_at_every_step(tmp_path, kind, way):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", KILLING, kind, way],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-800:]
    seen = json.loads(done.stdout)
    assert len(seen) > 5 and {"old", "another"} <= set(seen)
    if kind == "file" or (way == "exchange" and sys.platform == "linux"):
        assert "broken" not in seen  # else for a moment between the renames, which the next mends


SAVING = """
import sys
import numpy as np
from pqpp_models.checkpoint import write_checkpoint
for _ in range(15):
    config = {"predictor_type": "x", "of": sys.argv[1]}
    write_checkpoint("it", config, {"a": np.zeros(99)}, sys.argv[1], {"vocab.txt": b"x"})
"""


def test_four_that_save_to_one_folder_leave_one_whole(tmp_path):
    started = [
        subprocess.Popen([sys.executable, "-c", SAVING, name], cwd=tmp_path, stderr=subprocess.PIPE)
        for name in "abcd"
    ]
    said = [process.communicate(timeout=120)[1] for process in started]
    assert said == [b""] * 4 and [one.name for one in tmp_path.iterdir()] == ["it"]
    config = json.loads((tmp_path / "it" / "config.json").read_text())
    assert config["of"] == (tmp_path / "it" / "README.md").read_text()
