"""`pqpp search embed`: embeddings from shard to shard, and an index and a run made of them."""

import signal
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pqpp_cli.main import main
from pqpp_engines.index import ImageTextEncoder, Index

pytest.importorskip("faiss")
pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    from PIL import Image
    from support.tiny_models import save_clip

    folder = tmp_path_factory.mktemp("embed")
    save_clip(folder / "clip")
    rng = np.random.default_rng(0)
    (folder / "images").mkdir()
    for n in range(7):
        Image.fromarray(rng.integers(0, 256, (20, 20, 3), dtype=np.uint8)).save(
            folder / f"images/{n}.png"
        )
    (folder / "images/bad.png").write_text("no image")
    names = [f"{n}.png" for n in range(7)] + ["bad.png", None]
    pq.write_table(pa.table({"image": names}), folder / "images.parquet")
    texts = ["a red cat on a mat", "a dog", " ", "two boats"]
    pq.write_table(pa.table({"query_id": list("abcd"), "prompt": texts}), folder / "q.parquet")
    return folder


def embed(study, file, output, *more):
    return main(["search", "embed", "--model", str(study / "clip"), "--file", str(study / file),
                 "--output", str(study / output), "--shard-size", "3", *more])  # fmt: skip


def test_images_and_texts_to_an_index_and_a_run(study, capsys):
    images = ["--column", "image", "--image-dir", str(study / "images")]
    assert embed(study, "images.parquet", "embedded", *images) == 0
    assert "rows with an error (column `error`): 2" in capsys.readouterr().err
    found = pq.read_table(study / "embedded")
    assert "bad.png" in found["error"][7].as_py() and found["embedding"][7].as_py() is None
    encoder = ImageTextEncoder(str(study / "clip"), device="cpu")
    whole = encoder.embed_images([study / f"images/{n}.png" for n in range(7)])
    assert np.array_equal(np.array(found["embedding"].to_pylist()[:7], dtype=np.float32), whole)
    index = str(study / "index")
    assert main(["search", "build", str(study / "embedded"), "--output", index]) == 0
    (study / "embedded" / "_shards.json").rename(study / "theirs")
    (study / "embedded" / "_shards.json").symlink_to("../theirs")
    assert main(["search", "build", str(study / "embedded"), "--output", "other"]) == 2
    assert "2 rows have no embedding" in capsys.readouterr().err
    assert Index(index).ids == [f"{n}.png" for n in range(7)]
    assert embed(study, "q.parquet", "queries") == 0
    retrieve = ["search", "retrieve", index, "--k", "3", "--workers", "1"]
    parts = str(study / "queries/part-*.parquet")
    assert main([*retrieve, "--file", parts, "--output", str(study / "run")]) == 0
    model = ["--model", str(study / "clip"), "--file", str(study / "q.parquet")]
    assert main([*retrieve, *model, "--output", str(study / "by-text")]) == 0
    runs = [pq.read_table(study / name).to_pylist() for name in ("run", "by-text")]
    assert [row["image"] for row in runs[0]] == [row["image"] for row in runs[1]]
    assert [row["error"] for row in runs[0] if row["error"]] == ["the query is blank"]


KILLED = """
import os, signal, sys
from pqpp_cli.main import main
from pqpp_engines.index.embed import EmbeddingJob
whole, begun = EmbeddingJob.__call__, []
def cut(job, table):
    done = whole(job, table)
    begun.append(done)
    if len(begun) == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return done
EmbeddingJob.__call__ = cut
main(sys.argv[1:])
"""


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_killed_in_a_shard_it_goes_on_and_ends_alike(study, tmp_path, workers, capsys):
    words = ["search", "embed", "--model", str(study / "clip"), "--file",
             str(study / "images.parquet"), "--column", "image", "--image-dir",
             str(study / "images"), "--shard-size", "3", "--output"]  # fmt: skip
    command = [sys.executable, "-c", KILLED, *words, str(tmp_path / "cut")]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    (first,) = (tmp_path / "cut").glob("part-*")
    begun = first.stat().st_mtime_ns
    assert main([*words, str(tmp_path / "cut"), "--workers", workers]) == 0
    assert "2 of 3 shards" in (said := capsys.readouterr().err) and "already existed" in said
    assert first.stat().st_mtime_ns == begun
    assert main([*words, str(tmp_path / "whole")]) == 0
    cut, whole = (
        {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}
        for name in ("cut", "whole")
    )
    assert cut == whole and len(cut) == 4


def test_a_rotated_photo_is_embedded_as_it_is_seen(study, tmp_path):
    from PIL import Image

    exif, photo = Image.Exif(), Image.open(study / "images/0.png")
    exif[0x0112] = 6  # to be turned clockwise by 90 degrees
    photo.rotate(90).save(tmp_path / "stored.png", exif=exif)
    encoder = ImageTextEncoder(str(study / "clip"), device="cpu")
    seen, lying = encoder.embed_images([tmp_path / "stored.png", photo.rotate(90)])
    assert np.array_equal(encoder.embed_images([photo])[0], seen)
    assert not np.array_equal(seen, lying)
