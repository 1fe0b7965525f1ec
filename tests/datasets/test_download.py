"""Downloads: verification, resuming, retries and the cache."""

import hashlib
import multiprocessing

import pytest
from datasets import load_dataset
from support.file_server import serve
from support.pqpp_folders import write_v1_0

from pqpp_datasets import builder
from pqpp_datasets.download import download_release
from pqpp_datasets.errors import BenchmarkError
from pqpp_datasets.sources import PublishedFile, Release, get_release
from pqpp_hub import pull

BODY = bytes(range(256)) * 700
DIGEST, SIZE = hashlib.sha256(BODY).hexdigest(), len(BODY)


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(pull.time, "sleep", lambda _: None)
    monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 100)
    monkeypatch.setattr(pull, "REACHED_SECONDS", 60.0)  # the local server always answers
    with serve() as state:
        state.files["/a.csv"] = BODY
        yield state


def fetch(server, folder, force=False, sha256=DIGEST, size=SIZE, name="a.csv"):
    source = PublishedFile(name, f"{server.url}/{name}", size, sha256)
    release = Release("pqpp/test", "0" * 40, (source,))
    return download_release(release, ["a.csv"], folder, force) / "a.csv"


def test_downloads_a_file_once(server, tmp_path):
    assert fetch(server, tmp_path).read_bytes() == BODY
    fetch(server, tmp_path)
    assert len(server.requests) == 1
    fetch(server, tmp_path, force=True)
    assert len(server.requests) == 2


@pytest.mark.parametrize("size", [len(BODY), None])
def test_resumes_after_a_lost_connection(server, tmp_path, size):
    server.faults = ["cut", "cut"]
    assert fetch(server, tmp_path, size=size).read_bytes() == BODY
    half = len(BODY) // 2
    assert [byte_range for _, byte_range in server.requests] == [
        None,
        f"bytes={half}-",
        f"bytes={half + half // 2}-",
    ]


def test_retries_temporary_errors(server, tmp_path):
    server.faults = [503, 500, 429]
    assert fetch(server, tmp_path).read_bytes() == BODY


def test_rejects_and_deletes_wrong_bytes(server, tmp_path):
    server.files["/a.csv"] = BODY[:-1] + b"?"
    with pytest.raises(BenchmarkError, match=r"expected SHA-256 \w+ \(published"):
        fetch(server, tmp_path)
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".lock"]
    server.files["/a.csv"] = BODY
    assert fetch(server, tmp_path).read_bytes() == BODY


def test_pins_hash_of_first_download(server, tmp_path):
    path = fetch(server, tmp_path, sha256=None, size=None)
    assert hashlib.sha256(BODY).hexdigest() in (path.parent / "lock.json").read_text()
    fetch(server, tmp_path, sha256=None, size=None)
    assert len(server.requests) == 1
    server.files["/a.csv"] = b"another file"
    with pytest.raises(BenchmarkError, match="of the first download, in"):
        fetch(server, tmp_path, sha256=None, size=None, force=True)
    assert path.read_bytes() == BODY


def test_concurrent_processes_download_once(server, tmp_path):
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    processes = [
        context.Process(target=lambda: results.put(fetch(server, tmp_path).read_bytes() == BODY))
        for _ in range(4)
    ]
    for process in processes:
        process.start()
    assert [results.get(timeout=300) for _ in processes] == [True] * 4
    for process in processes:
        process.join()
    assert len(server.requests) == 1


def test_load_dataset_downloads_verifies_and_caches(server, tmp_path, cache, monkeypatch):
    folder = write_v1_0(tmp_path / "data", splits=("train", "validation", "test"))
    sources = []
    for split in ("train", "validation", "test"):
        body = (folder / "dataset" / f"{split}.csv").read_bytes()
        server.files[f"/{split}.csv"] = body
        digest = hashlib.sha256(body).hexdigest()
        sources.append(
            PublishedFile(f"dataset/{split}.csv", f"{server.url}/{split}.csv", len(body), digest)
        )
    release = Release("pqpp/v1.0", "1" * 40, tuple(sources))
    monkeypatch.setattr(builder, "get_release", lambda _: release)
    assert load_dataset("pqpp", "pqpp-v1.0")["test"].num_rows == 3
    assert len(server.requests) == 3
    load_dataset("pqpp", "pqpp-v1.0")
    assert next(iter(load_dataset("pqpp", "pqpp-v1.0", split="test", streaming=True)))
    assert len(server.requests) == 3


@pytest.mark.realdata
def test_pinned_hashes_match_published_files(real_data):
    for path in ("dataset/train.csv", "dataset/validation.csv"):
        source = get_release("pqpp/v1.0").find_file(path)
        body = (real_data / "pqpp" / "v1.0" / path).read_bytes()
        assert (len(body), hashlib.sha256(body).hexdigest()) == (source.bytes, source.sha256)


def test_offline_mode_downloads_nothing(server, tmp_path, monkeypatch):
    import datasets

    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    with pytest.raises(BenchmarkError, match="offline mode"):
        fetch(server, tmp_path)
    assert server.requests == []
