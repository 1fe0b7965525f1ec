"""Indexes: search compared with numpy, extension, and damaged files."""

import json
import os

import numpy as np
import pytest

from pqpp_backbones.errors import ModelError
from pqpp_engines.errors import EngineError
from pqpp_engines.index import Index, build_index
from pqpp_files.errors import FileError, PqppError
from pqpp_files.foreign.arrays import load_faiss
from pqpp_files.hashes import hash_file

faiss = pytest.importorskip("faiss")


def make_clusters(n, size=32, centres=50, seed=0):
    rng = np.random.default_rng(seed)
    means = rng.normal(size=(centres, size))
    return (means[rng.integers(0, centres, n)] + 0.6 * rng.normal(size=(n, size))).astype("f4")


def make_ids(n, first=0):
    return [f"image-{one}" for one in range(first, first + n)]


@pytest.mark.parametrize("factory", [None, "IVF64,SQ8", "IVF32,Flat", "HNSW16"])
def test_search_agrees_with_numpy(factory, tmp_path):
    vectors, queries = make_clusters(4000), make_clusters(50, seed=1)
    index = build_index(vectors, make_ids(4000), tmp_path / "index", factory)
    found, cosines = index.search(queries, 10)
    units, unit_queries = (v / np.linalg.norm(v, axis=1)[:, None] for v in (vectors, queries))
    products = unit_queries @ units.astype(np.float16).astype(np.float32).T
    true = np.argsort(-products, axis=1, kind="stable")[:, :10]
    assert np.mean([np.isin(t, f).mean() for t, f in zip(true, found, strict=True)]) > 0.95
    assert (np.diff(cosines, axis=1) <= 0).all() and np.abs(cosines).max() <= 1.001
    exact, _ = index.search(queries, 10, exact=True)
    assert (exact == true).mean() > 0.995  # sums of 16 bits may tie in another order
    assert index.config["recall_at_10"] >= (0.9 if factory == "HNSW16" else 0.99)
    if factory is None:
        assert index.config["factory"] == "Flat" and (found == exact).all()


def test_extends_index_in_place(tmp_path):
    vectors = make_clusters(600)
    built = build_index(vectors[:500], make_ids(500), tmp_path / "index", "IVF8,SQ8", "clip", "abc")
    grown = built.extend(vectors[:0], []).extend(vectors[500:], make_ids(100, 500))
    assert len(grown) == 600 and grown.config["added"] == 100
    reloaded = Index(tmp_path / "index")
    found, _ = reloaded.search(vectors[550:560], 1)
    assert [reloaded.ids[one] for one in found[:, 0]] == make_ids(10, 550)
    assert "600 vectors of 32 numbers by clip (abc)" in (tmp_path / "index/README.md").read_text()


def test_extension_keeps_vectors_that_another_run_added(tmp_path, monkeypatch):
    vectors = make_clusters(20)
    built = build_index(vectors[:10], make_ids(10), tmp_path / "index")

    def load_before_another_run(path, **options):
        loaded = load_faiss(path, **options)
        monkeypatch.undo()
        Index(tmp_path / "index").extend(vectors[10:15], make_ids(5, 10))
        return loaded

    monkeypatch.setattr("pqpp_engines.index.index.load_faiss", load_before_another_run)
    with pytest.raises(EngineError, match="another process changed"):
        built.extend(vectors[15:], make_ids(5, 15))
    build_index(vectors, make_ids(20), tmp_path / "other")
    with pytest.raises(FileError, match="contains other files"):
        Index(tmp_path / "index").extend(vectors[15:], make_ids(5, 15), tmp_path / "other")
    assert Index(tmp_path / "index").ids == make_ids(15)


@pytest.mark.parametrize(
    ("vectors", "ids", "factory"),
    [
        (np.eye(3), ["a", "b"], None),
        (np.eye(3), ["a", "b", "a"], None),
        (np.eye(3), ["a", "b\n", "c"], None),
        (np.arange(5001)[::-1, None], make_ids(5001), None),
        (np.arange(5001)[::-1, None], make_ids(5001), "SQ8"),
        (np.eye(3), ["a", "b", "c"], "IVF0,Flat"),
        (np.eye(3), ["a", "b", "c"], "cat"),
        (np.eye(3), ["a", "b", "c"], "IDMap,Flat"),
    ],
)
def test_build_rejects_invalid_input(vectors, ids, factory, tmp_path):
    with pytest.raises(EngineError, match="row 5001 of" if len(ids) > 5000 else None):
        build_index(vectors, ids, tmp_path / "index", factory)
    assert not (tmp_path / "index").exists()


def test_rejects_damaged_index_and_invalid_queries(tmp_path):
    index = build_index(make_clusters(100), make_ids(100), tmp_path / "index", model="clip")
    for queries, k in ((np.ones((1, 5)), 1), (np.zeros((1, 32)), 1), (np.ones((1, 32)), 0)):
        with pytest.raises(EngineError, match=r"queries|`k`"):
            index.search(queries, k)
    assert index.search(np.ones((1, 32)), 500)[0].shape == (1, 100)
    with pytest.raises(EngineError, match=r"no index\.json"):
        Index(tmp_path)
    config_path = tmp_path / "index/index.json"
    config = json.loads(config_path.read_text())
    invalid = [{**config, one: 3.5} for one in ("model", "revision", "size", "vectors_per_id")]
    invalid += [{**config, "size": 31}, {**config, "vectors_per_id": 2}, {"size": 32}, []]
    for one in invalid:
        config_path.write_text(json.dumps(one))
        with pytest.raises(EngineError, match=r"the index .* is damaged"):
            Index(tmp_path / "index")
    path, ids_path = (config_path.with_name(name) for name in ("index.faiss", "ids.txt"))
    path.write_bytes(path.read_bytes()[:-900])  # with a matching hash, faiss itself would crash
    for reason in ("not a readable faiss index", "do not match"):
        config["sha256"] = {one.name: hash_file(one) for one in (path, ids_path)}
        config_path.write_text(json.dumps(config))
        with pytest.raises(ValueError, match=reason):
            Index(tmp_path / "index")
        build_index(make_clusters(100), make_ids(100), tmp_path / "index")
        ids_path.write_text("a")
    ids_path.unlink()
    os.mkfifo(ids_path)
    with pytest.raises(ModelError, match="is a pipe"):
        Index(tmp_path / "index")


@pytest.mark.parametrize("factory", ["Flat", "IVF8,SQ8", "HNSW8"])
def test_rejects_flipped_bits_and_truncated_files(factory, tmp_path):
    build_index(make_clusters(600), make_ids(600), tmp_path / "index", factory)
    random = np.random.default_rng(0)
    for name in ("index.faiss", "ids.txt"):
        path = tmp_path / "index" / name
        content = path.read_bytes()
        damaged = [content[:size] for size in (0, 50, len(content) // 2, len(content) - 1)]
        for position in random.integers(0, len(content), 40):
            damaged.append(bytearray(content))
            damaged[-1][position] ^= 1 << int(random.integers(8))
        for one in damaged:  # faiss itself may crash
            path.write_bytes(one)
            with pytest.raises(EngineError, match=r"the index .* is damaged"):
                Index(tmp_path / "index")
        path.write_bytes(content)
    Index(tmp_path / "index")


def test_index_reserves_no_more_than_its_size(tmp_path):
    folder = build_index(np.eye(2), ["a", "b"], tmp_path / "index").folder
    content = bytearray((folder / "index.faiss").read_bytes())
    size = content.index((8).to_bytes(8, "little"))  # of the codes: two vectors of four bytes
    content[size : size + 8] = (2**33).to_bytes(8, "little")
    (folder / "index.faiss").write_bytes(content)
    rewrite_hash(folder)
    with pytest.raises(FileError, match="byte_limit"):  # faiss' own words
        Index(folder)


def rewrite_hash(folder):
    config = json.loads((folder / "index.json").read_text())
    config["sha256"]["index.faiss"] = hash_file(folder / "index.faiss")
    (folder / "index.json").write_text(json.dumps(config))


@pytest.mark.parametrize("code_size", [8, 2**64 - 1])  # of two numbers; faiss's for any size
def test_foreign_index_touches_no_other_file(code_size, tmp_path):
    folder = build_index(np.eye(2), ["a", "b"], tmp_path / "index").folder
    index = faiss.index_factory(2, "IVF1,Flat", faiss.METRIC_INNER_PRODUCT)
    index.train(np.eye(2))
    lists = faiss.OnDiskInvertedLists(1, index.code_size, str(tmp_path / "private.bin"))
    index.replace_invlists(lists)
    index.add(np.eye(2))
    faiss.write_index(index, str(folder / "index.faiss"))
    content = bytearray((folder / "index.faiss").read_bytes())
    place = content.index(b"ilod") + 12
    content[place : place + 8] = code_size.to_bytes(8, "little")
    (folder / "index.faiss").write_bytes(content)
    rewrite_hash(folder)
    with pytest.raises(FileError, match="its vectors are in another file"):
        Index(folder)


@pytest.mark.parametrize(
    ("factory", "numbers", "message"),
    [
        ("IVF1,Flat", [0, 0, 1], "a damaged index"),
        ("IVF1,Flat", [-9, 0, 1], "a damaged index"),
        ("IVF1,PQ3x4fs,Refine(SQfp16)", None, "IndexIVFPQFastScan are not supported"),
    ],
)
def test_foreign_index_with_other_numbers_or_types(factory, numbers, message, tmp_path):
    folder = build_index(np.eye(3), ["a", "b", "c"], tmp_path / "index").folder
    index = faiss.index_factory(3, factory, faiss.METRIC_INNER_PRODUCT)
    index.train(np.random.default_rng(0).normal(size=(99, 3)))
    index.add_with_ids(np.eye(3), np.array(numbers)) if numbers else index.add(np.eye(3))
    faiss.write_index(index, str(folder / "index.faiss"))
    rewrite_hash(folder)
    with pytest.raises(PqppError, match=message):
        Index(folder).search(np.eye(3), 3)
