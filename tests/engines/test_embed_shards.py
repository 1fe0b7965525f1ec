"""`pqpp search embed` by shards, and an index and a run built from the embeddings."""

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


def run_embed(study, file, output, *more):
    return main(["search", "embed", "--model", str(study / "clip"), "--file", str(study / file),
                 "--output", str(study / output), "--shard-size", "3", *more])  # fmt: skip


def test_embeds_shards_builds_index_and_retrieves(study, capsys):
    images = ["--column", "image", "--image-dir", str(study / "images")]
    assert run_embed(study, "images.parquet", "embedded", *images) == 0
    assert "rows with an error (column `error`): 2" in capsys.readouterr().err
    table = pq.read_table(study / "embedded")
    assert "bad.png" in table["error"][7].as_py() and table["embedding"][7].as_py() is None
    encoder = ImageTextEncoder(str(study / "clip"), device="cpu")
    expected = encoder.embed_images([study / f"images/{n}.png" for n in range(7)])
    assert np.array_equal(np.array(table["embedding"].to_pylist()[:7], dtype=np.float32), expected)
    index = str(study / "index")
    assert main(["search", "build", str(study / "embedded"), "--output", index]) == 0
    (study / "embedded" / "_shards.json").rename(study / "theirs")
    (study / "embedded" / "_shards.json").symlink_to("../theirs")
    assert main(["search", "build", str(study / "embedded"), "--output", "other"]) == 2
    assert "2 rows have no embedding" in capsys.readouterr().err
    assert Index(index).ids == [f"{n}.png" for n in range(7)]
    assert run_embed(study, "q.parquet", "queries") == 0
    retrieve = ["search", "retrieve", index, "--k", "3", "--workers", "1"]
    parts = str(study / "queries/part-*.parquet")
    assert main([*retrieve, "--file", parts, "--output", str(study / "run")]) == 0
    model = ["--model", str(study / "clip"), "--file", str(study / "q.parquet")]
    assert main([*retrieve, *model, "--output", str(study / "by-text")]) == 0
    runs = [pq.read_table(study / name).to_pylist() for name in ("run", "by-text")]
    assert [row["image"] for row in runs[0]] == [row["image"] for row in runs[1]]
    assert [row["error"] for row in runs[0] if row["error"]] == ["the query is blank"]


@pytest.mark.parametrize("vectors", [[[1.0], [1.0, 2.0]], [["x"], ["y"]]])
def test_refuses_other_embeddings(vectors, study, tmp_path, capsys):
    assert run_embed(study, "q.parquet", tmp_path) == 0
    table = pa.table({"prompt": ["a", "b"], "embedding": vectors})
    pq.write_table(table, tmp_path / "part-00000-of-00002.parquet")
    assert main(["search", "build", str(tmp_path), "--output", str(study / "none")]) == 2
    assert "is damaged" in capsys.readouterr().err
