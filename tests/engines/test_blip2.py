"""BLIP-2: embeddings, match scores and reranked runs equal those of transformers."""

import numpy as np
import pyarrow.parquet as pq
import pytest

pytest.importorskip("faiss")
torch = pytest.importorskip("torch")
Image = pytest.importorskip("PIL.Image")

from PIL import ImageOps  # noqa: E402
from support.tiny_models import save_blip2, save_clip  # noqa: E402

from pqpp_cli.main import main  # noqa: E402
from pqpp_engines.errors import EngineError  # noqa: E402
from pqpp_engines.index import ImageTextEncoder, Index, build_index  # noqa: E402
from pqpp_engines.index.retrieve import Retriever  # noqa: E402
from pqpp_files.errors import FileError  # noqa: E402

TEXTS = ["a red cat on a mat", "a dog", "two men ride a wave"]


@pytest.fixture(scope="module")
def blip2(tmp_path_factory):
    return save_blip2(tmp_path_factory.mktemp("models") / "blip2")


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    folder = tmp_path_factory.mktemp("images")
    rng = np.random.default_rng(0)
    for n in range(9):
        pixels = rng.integers(0, 256, (4, 4, 3), dtype=np.uint8)
        exif = Image.Exif()
        if n > 6:  # a rotated photograph
            exif[0x0112] = 6
        size = ((192, 96), (96, 192))[n % 2]
        Image.fromarray(pixels).resize(size).save(folder / f"{n}.png", exif=exif)
    return folder


@pytest.fixture(scope="module")
def reference(blip2, images):
    """Cosines (texts, images) and match logits (texts, images, 2), computed by transformers."""
    from transformers import AutoProcessor, Blip2ForImageTextRetrieval

    model = Blip2ForImageTextRetrieval.from_pretrained(
        blip2, use_safetensors=True, trust_remote_code=False
    ).eval()
    processor = AutoProcessor.from_pretrained(blip2, trust_remote_code=False)
    cosines, logits = np.empty((3, 9)), np.empty((3, 9, 2))
    for row, text in enumerate(TEXTS):
        for column in range(9):
            image = ImageOps.exif_transpose(Image.open(images / f"{column}.png"))
            inputs = processor(images=image, text=text, return_tensors="pt")
            with torch.inference_mode():
                itc = model(**inputs)
                itm = model(**inputs, use_image_text_matching_head=True)
            cosines[row, column] = itc.logits_per_image.item()
            logits[row, column] = itm.logits_per_image[0].numpy()
    return cosines, logits


def test_embeddings_and_matches_equal_transformers(blip2, images, reference):
    cosines, logits = reference
    encoder = ImageTextEncoder(str(blip2), device="cpu")
    paths = [images / f"{n}.png" for n in range(9)]
    visual, textual = encoder.embed_images(paths), encoder.embed_texts(TEXTS)
    assert visual.shape == (9, 3, 8) and textual.shape == (3, 8)
    visual /= np.linalg.norm(visual, axis=-1, keepdims=True)
    textual /= np.linalg.norm(textual, axis=-1, keepdims=True)
    np.testing.assert_allclose(np.einsum("nvd,td->tnv", visual, textual).max(2), cosines, atol=1e-5)
    matched = np.stack([encoder.score_match(path, TEXTS) for path in paths], axis=1)
    np.testing.assert_allclose(matched, logits[..., 1] - logits[..., 0], atol=1e-4)
    probabilities = torch.softmax(torch.tensor(logits), -1)[..., 1].numpy()
    np.testing.assert_allclose(1 / (1 + np.exp(-matched)), probabilities, atol=1e-5)


def test_embeddings_do_not_depend_on_batch_size(blip2, images, tmp_path):
    """Batches as on a GPU, in which short texts are padded."""
    paths = [images / f"{n}.png" for n in range(9)]
    for folder in (blip2, save_clip(tmp_path / "clip")):
        encoder = ImageTextEncoder(str(folder), device="cpu")
        inputs = (encoder.embed_texts, TEXTS), (encoder.embed_images, paths)
        singles = [embed(items, 1) for embed, items in inputs]
        matched = encoder.score_match(paths[0], TEXTS) if encoder.can_match else None
        encoder.at_once = None
        for size in (2, 3, 64):
            for single, (embed, items) in zip(singles, inputs, strict=True):
                batched = embed(items, size)
                scale = np.linalg.norm(single, axis=-1, keepdims=True)
                np.testing.assert_allclose(batched / scale, single / scale, atol=1e-4)
        if matched is not None:
            np.testing.assert_allclose(encoder.score_match(paths[0], TEXTS), matched, atol=1e-4)
    with pytest.raises(EngineError, match="nothing to embed"):
        encoder.embed_texts([])


def test_run_reranks_candidates_by_match(blip2, images, reference, tmp_path, monkeypatch):
    cosines, logits = reference
    monkeypatch.chdir(tmp_path)
    words = ["search", "build", str(images), "--model", str(blip2), "--output", "index"]
    assert main(words) == 0
    index = Index("index")
    assert index.config["vectors_per_id"] == 3 and index.config["vectors"] == 27
    assert index.config["size"] == 8 and len(index) == 9
    (tmp_path / "q.csv").write_text("query_id,prompt\n" + "".join(f"{t},{t}\n" for t in TEXTS))
    words = ["search", "retrieve", "index", "--file", "q.csv", "--model", str(blip2), "--k", "3"]
    words += ["--image-dir", str(images), "--rerank", "5", "--output"]
    assert main([*words, "run.parquet"]) == 0
    rows = pq.read_table("run.parquet").to_pylist()
    odds = logits[..., 1] - logits[..., 0]
    assert np.diff(np.sort(cosines, axis=1)).min() > 4e-4  # distinct in 16 bits
    for number in range(3):
        by_cosine = np.argsort(-cosines[number], kind="stable")[:5]
        expected = sorted(by_cosine, key=lambda one: -odds[number, one])[:3]
        query_rows = rows[3 * number : 3 * number + 3]
        assert [row["image"] for row in query_rows] == [f"{one}.png" for one in expected]
        scores = [row["score"] for row in query_rows]
        np.testing.assert_allclose(scores, odds[number, expected], atol=1e-4)
        assert [row["image"] for row in query_rows] != [f"{one}.png" for one in by_cosine[:3]]
    # Without reranking, rows are sorted by cosine, which is the score.
    assert main([*words[:-3], "--rerank", "0", "--output", "itc.parquet"]) == 0
    rows = pq.read_table("itc.parquet").to_pylist()
    best = np.argsort(-cosines, axis=1, kind="stable")[:, :3]
    assert [row["image"] for row in rows] == [f"{one}.png" for one in best.ravel()]
    expected = np.take_along_axis(cosines, best, 1).ravel()
    np.testing.assert_allclose([row["score"] for row in rows], expected, atol=2e-3)  # 16 bits


def test_reads_no_image_outside_its_folder(blip2, images, tmp_path):
    build_index(np.eye(1, 8), [str(images / "0.png")], tmp_path / "index", model=str(blip2))
    retriever = Retriever(tmp_path / "index", image_dir=str(tmp_path), k=1, rerank=1)
    with pytest.raises(FileError, match="is outside"):
        retriever.retrieve(["q"], ["a dog"])


def test_item_score_is_that_of_its_best_vector(tmp_path):
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(2000, 4, 16)).astype("f4")
    queries = rng.normal(size=(40, 16)).astype("f4")
    unit = vectors / np.linalg.norm(vectors, axis=2, keepdims=True)
    true = np.argsort(-np.einsum("nvd,qd->qnv", unit, queries).max(2), axis=1)[:, :10]
    for factory, least in ((None, 0.999), ("IVF64,SQ8", 0.97)):
        folder = tmp_path / (factory or "flat")
        index = build_index(vectors, [str(n) for n in range(2000)], folder, factory)
        found, _ = index.search(queries, 10)
        assert all(len(set(row)) == 10 for row in found)
        assert np.mean([np.isin(t, f).mean() for t, f in zip(true, found, strict=True)]) >= least
    grown = index.extend(vectors[:100] + 1, [f"b{n}" for n in range(100)])
    assert len(grown) == 2100 and grown.config["vectors"] == 8400
    with pytest.raises(EngineError):
        grown.extend(vectors[:5, :3], list("vwxyz"))


def test_from_index_rejects_changed_model(tmp_path, images):
    clip = save_clip(tmp_path / "clip")
    encoder = ImageTextEncoder(str(clip), device="cpu")
    index = build_index(
        np.eye(16), list("abcdefghijklmnop"), tmp_path / "i", None, encoder.model, encoder.revision
    )
    ImageTextEncoder.from_index(index, str(clip))
    save_clip(tmp_path / "other", size=8).rename(tmp_path / "else")
    (tmp_path / "clip").rename(tmp_path / "away")
    (tmp_path / "else").rename(tmp_path / "clip")
    with pytest.raises(EngineError, match="has changed since the index was built"):
        ImageTextEncoder.from_index(index, str(clip))
