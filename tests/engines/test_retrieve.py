"""`pqpp search`: build, retrieve, add and show, with a tiny random CLIP."""

import json
import shutil
import subprocess
import sys

import numpy as np
import pyarrow.parquet as pq
import pytest

from pqpp_cli.main import main
from pqpp_engines.index import ImageTextEncoder, Index

pytest.importorskip("faiss")
pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    from support.tiny_models import save_clip

    return save_clip(tmp_path_factory.mktemp("clip"))


@pytest.fixture
def images(tmp_path):
    from PIL import Image

    rng = np.random.default_rng(0)
    for n in range(12):
        path = tmp_path / "images" / f"set-{n % 2}" / f"{n}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 256, (20, 20, 3), dtype=np.uint8)).save(path)
    return tmp_path / "images"


def test_build_and_retrieve_commands(clip, images, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["search", "build", "images", "--model", str(clip), "--output", "index"]) == 0
    assert "Flat" in capsys.readouterr().out
    index = Index("index")
    assert index.ids == sorted(p.relative_to(images).as_posix() for p in images.rglob("*.png"))
    (tmp_path / "q.csv").write_text("query_id,prompt\nq1,a red cat\nq2,a dog\n")
    retrieve = ["search", "retrieve", "index", "--file", "q.csv", "--k", "5", "--output"]
    assert main([*retrieve, "by_text.trec", "--model", str(clip)]) == 0
    np.save("q.npy", ImageTextEncoder(str(clip), device="cpu").embed_texts(["a red cat", "a dog"]))
    assert main([*retrieve, "run.trec", "--queries", "q.npy"]) == 0
    lines = [line.split() for line in (tmp_path / "run.trec").read_text().splitlines()]
    assert (tmp_path / "run.trec").read_text() == (tmp_path / "by_text.trec").read_text()
    assert len(lines) == 10 and [line[3] for line in lines[:5]] == list("12345")
    assert lines[0][:2] == ["q1", "Q0"] and lines[0][2] in index.ids
    assert main([*retrieve, "run.parquet", "--queries", "q.npy"]) == 0
    rows = pq.read_table("run.parquet").to_pylist()
    assert [row["image"] for row in rows] == [line[2] for line in lines]
    embedded = np.load("q.npy")[0]
    encoder = ImageTextEncoder(str(clip), device="cpu")
    vectors = encoder.embed_images(images / name for name in index.ids)
    best = vectors @ embedded / np.linalg.norm(vectors, axis=1)
    assert rows[0]["image"] == index.ids[int(best.argmax())]
    (tmp_path / "qrels.txt").write_text(f"q1 0 {lines[0][2]} 1\nq2 0 {lines[9][2]} 1\n")
    capsys.readouterr()
    compute = ["metrics", "compute", "reciprocal_rank", "--run", "run.trec", "--qrels", "qrels.txt"]
    assert main([*compute, "--format", "json"]) == 0
    assert "0.6" in capsys.readouterr().out  # (1 + 1/5) / 2


def test_unreadable_images_are_named_and_left_out(clip, images, tmp_path, caplog):
    build = ["search", "build", str(images), "--model", str(clip), "--overwrite", "--output"]
    for path in (images / "set-0" / "2.png", images / "new.jpg"):
        path.write_bytes(b"no image")
    assert main([*build, str(tmp_path / "index")]) == 0
    assert "left out 2 images that cannot be read: new.jpg, set-0/2.png" in caplog.text
    index = Index(tmp_path / "index")
    assert index.ids == [f"set-{n % 2}/{n}.png" for n in (0, 10, 4, 6, 8, 1, 11, 3, 5, 7, 9)]
    vectors = ImageTextEncoder(str(clip), device="cpu").embed_images(images / n for n in index.ids)
    assert index.search(vectors, 1)[0][:, 0].tolist() == [*range(11)]
    for path in images.rglob("*.png"):
        path.write_bytes(b"no image")
    assert main([*build, str(tmp_path / "index")]) == 2


def test_refuses_a_model_in_one_line(clip, images, tmp_path):
    """transformers logs the whole configuration as an error."""
    folder = shutil.copytree(clip, tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"use_return_dict": "a\x1b[31m"}))
    words = ["search", "build", str(images), "--model", str(folder)]
    line = [sys.executable, "-m", "pqpp_cli.main", *words, "--output", str(tmp_path / "index")]
    ended = subprocess.run(line, capture_output=True, text=True)
    assert ended.returncode == 2 and ended.stderr.count("\n") == 1, ended.stderr


def test_add_and_show_commands(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    np.save("a.npy", rng.normal(size=(50, 8)).astype("f4"))
    (tmp_path / "a.txt").write_text("".join(f"a{i}\n" for i in range(50)))
    assert main(["search", "build", "a.npy", "--ids", "a.txt", "--output", "a"]) == 0
    assert len(Index("a")) == 50
    assert main(["search", "build", "a.npy", "--output", "a"]) == 2  # without --overwrite
    np.save("c.npy", rng.normal(size=(2, 8)).astype("f4"))
    assert main(["search", "add", "a", "c.npy"]) == 0
    capsys.readouterr()
    assert main(["search", "show", "a"]) == 0
    output = capsys.readouterr().out
    assert "52" in output and "Flat" in output
    assert json.loads((tmp_path / "a/index.json").read_text())["added"] == 2
