"""Jobs from shard to shard where no file may grow: one line, and they go on."""

import resource
import subprocess
import sys
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pqpp_cli.main import main

DRAW = (
    "import sys; from PIL import Image; seed = int(sys.argv[2]);"
    "Image.effect_noise((8 + len(sys.argv[1]) // 50,) * 2, 99).save(sys.argv[3])"
)
COMMAND = f'{sys.executable} -c "{DRAW}" {{prompt}} {{seed}} {{output}}'
CASES = {
    "predict": ("predict", "--file", "p.parquet", "--predictor", "mean_word_length",
                "--shard-size", "5"),
    "generate": ("generate", "--command", COMMAND, "--model-name", "m", "--file", "p.parquet",
                 "--images-per-prompt", "1", "--shard-size", "5"),
    "retrieve": ("search", "retrieve", "index", "--k", "30", "--file", "p.parquet",
                 "--shard-size", "5"),
    "embed": ("search", "embed", "--model", "eye", "--file", "t.parquet", "--shard-size", "2"),
    "assess": ("assess", "rahf", "--model", "rahf", "--device", "cpu", "--image-dir", "images",
               "--file", "t.parquet", "--shard-size", "2"),
}  # fmt: skip
WITH_MODELS = ("embed", "assess")
SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in WITH_MODELS]
DAILY = [pytest.param(name, marks=pytest.mark.daily) for name in ("generate", "retrieve")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Ten queries, of which the later ones are longer, and a collection."""
    pytest.importorskip("faiss")
    folder = tmp_path_factory.mktemp("full")
    rng = np.random.default_rng(0)
    np.save(folder / "e.npy", rng.normal(size=(90, 8)).astype("f4"))
    (folder / "ids.txt").write_text("".join(f"{n:0200}\n" for n in range(90)))
    build = ["search", "build", str(folder / "e.npy"), "--ids", str(folder / "ids.txt")]
    assert main([*build, "--output", str(folder / "index")]) == 0
    words = "".join(map(chr, rng.integers(97, 123, 40_000)))
    texts = [f"a cat {n}" for n in range(6)] + [words[n * 9000 :][:9000] for n in range(4)]
    table = pa.table({"prompt": texts, "embedding": list(rng.normal(size=(10, 8)))})
    pq.write_table(table, folder / "p.parquet")
    texts = ["a cat", "a dog", words[:20_000], words[20_000:]]
    pq.write_table(pa.table({"prompt_id": range(4), "prompt": texts}), folder / "t.parquet")
    return folder


@pytest.fixture(scope="module")
def with_models(folder):
    """The same folder with images and small models of them."""
    pytest.importorskip("torch")
    from support.made_assessor import write_images
    from support.tiny_models import save_clip
    from support.tiny_rahf import tiny_feedback

    write_images(folder / "images", 4, ("m",))
    save_clip(folder / "eye")
    tiny_feedback().save_pretrained(folder / "rahf")
    return folder


def limited(name):
    """No file may become larger: what a full disk says, without one."""
    most = 32_768 if name == "assess" else 16_384  # two heatmaps a row
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))


@pytest.mark.parametrize("name", ["predict", *DAILY, *SLOW])
def test_a_job_goes_on_when_there_is_room_again(folder, name, monkeypatch, request):
    if name in WITH_MODELS:
        request.getfixturevalue("with_models")
    words = [*CASES[name], "--output"]
    command = [sys.executable, "-m", "pqpp_cli.main", *words, f"{name}-cut"]
    options = {"cwd": folder, "capture_output": True, "text": True, "check": False}
    done = subprocess.run(command, preexec_fn=partial(limited, name), **options)
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
    assert ": no space is left" in done.stderr and "pqpp-" not in done.stderr
    there = sorted(path for path in (folder / f"{name}-cut").rglob("part-*"))
    assert len(there) == 1 and not list((folder / f"{name}-cut").rglob(".*"))
    monkeypatch.chdir(folder)
    for output in (f"{name}-cut", f"{name}-whole"):
        assert main([*words, output]) == 0
    cut, whole = (
        {
            path.relative_to(folder / end): path.read_bytes()
            for path in (folder / end).rglob("part*")
        }
        for end in (f"{name}-cut", f"{name}-whole")
    )
    assert len(cut) == 2 and (name == "generate" or cut == whole)  # noise differs
