"""Commands on a full disk: one line that names the file, and nothing half-written."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.benchmark_folders import write_conqa
from support.small_disk import can_mount, run_on_small_disks

CAN_MOUNT = can_mount()


def mounted(test):
    """Mark what needs a disk of its own; all commands together take half a minute."""
    test = pytest.mark.skipif(not CAN_MOUNT, reason="no process may mount a disk here")(test)
    return pytest.mark.daily(test)


VOTES = "prompt,image,model,annotator,label\n" + "".join(
    f"caption {n},{n}.png,sdxl,ann,{n % 4 - 1}\n" for n in range(2000)
)
READ_ONLY = 0
# Words, the sizes that are too small, and what was asked for, in the words where `@` is the disk.
CASES = {
    "bench": ("bench --subset sample --predictor n_words", (4096, 40_000), "@/cache"),
    "bench-report": (
        "bench --predictor n_words --subset sample --report @/r.html",
        (4096, 45_000),
        "@/r.html",
    ),
    "fit": ("fit sample --targets mean_hbpp --output @/m", (4096, 400_000), "@/m"),
    "build": ("build votes.csv --output @/b", (4096, 20_000), "@/b"),
    "export": ("datasets export conqa --data-dir conqa --output @/x", (4096, 20_000), "@/x"),
    "predict": (
        "predict --file p.csv --predictor n_words --output @/p.csv",
        (20_000, 40_960),
        "@/p.csv",
    ),
    # Room for nothing, for a part of the vectors, and for all but the ids.
    "index-build": ("search build e.npy --output @/i", (4096, 45_056, 65_536), "@/i"),
    "retrieve-parquet": (
        "search retrieve one --file p.csv --queries q.npy --output @/r.parquet",
        (4096,),
        "@/r.parquet",
    ),
    "annotate-export": ("annotate export study.yaml --output @/v", (4096, 12_288), "@/v"),
    "annotate-backup": ("annotate backup study.yaml --output @/b.db", (4096, 40_960), "@/b.db"),
}


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """What each command ended with, by its name and the size of the disk."""
    folder = tmp_path_factory.mktemp("full")
    disk = str(folder / "disk")
    (folder / "votes.csv").write_text(VOTES)
    (folder / "p.csv").write_text("prompt\n" + "\n".join(f"a cat and {n}" for n in range(3000)))
    write_conqa(folder / "conqa")
    write_indices(folder)
    write_study(folder)
    cases = []
    for name, (words, sizes, _) in CASES.items():
        said = words.replace("@", disk).split()
        cache = f"{disk}/cache" if name == "bench" else str(folder / "cache")
        for size in (*sizes, READ_ONLY):
            cases.append({"disk": disk, "size": size, "words": said, "cache": cache})
    keys = [(name, size) for name, (_, sizes, _) in CASES.items() for size in (*sizes, READ_ONLY)]
    return disk, dict(zip(keys, run_on_small_disks(cases, folder), strict=True))


def write_study(folder):
    """A study of two images with 30 votes each."""
    from PIL import Image
    from support.studies import do_all

    from pqpp_annotation.store.database import open_store
    from pqpp_annotation.store.people import add_person
    from pqpp_annotation.study.init import make_study

    Image.new("RGB", (8, 6)).save(folder / "a.png")
    (folder / "s.csv").write_text("prompt,image\na cat,a.png\na dog,a.png\n")
    study = make_study(folder / "study.yaml", folder / "s.csv", kind="rating", people_per_item=30)
    store = open_store(study)
    for number in range(30):
        do_all(store, add_person(store, f"p{number}").id)
    store.close()


def write_indices(folder):
    """Two small indices, embeddings to add, and those of the queries."""
    from pqpp_engines.index import build_index

    rng = np.random.default_rng(0)
    for name in ("one", "two"):
        ids = [f"{name}-{n}" for n in range(100)]
        build_index(rng.normal(size=(100, 64)), ids, folder / name)
    np.save(folder / "e.npy", rng.normal(size=(500, 64)))
    np.save(folder / "q.npy", rng.normal(size=(3000, 64)))


@mounted
@pytest.mark.parametrize("name", CASES)
def test_a_full_disk_is_one_line_and_leaves_nothing_half_written(ended, name):
    disk, found = ended
    _, sizes, place = CASES[name]
    for size in sizes:
        answer = found[name, size]
        assert (answer["code"], answer["error"]) == (2, None), answer
        lines = answer["stderr"].splitlines()
        said = [
            line for line in lines if "not the published" not in line and " kB on disk" not in line
        ]
        assert len(said) == 1 and said[0].startswith("pqpp: error: "), said
        assert f"{place.replace('@', disk)}: no space is left" in said[0]
        locks = {Path(one) for one in answer["left"] if one.startswith("cache")}
        assert not {Path(one) for one in answer["left"]} - locks
        assert not [one for one in locks if one.suffix == ".arrow"]


@mounted
@pytest.mark.parametrize("name", CASES)
def test_a_disk_that_can_only_be_read_is_one_line(ended, name):
    disk, found = ended
    answer = found[name, READ_ONLY]
    assert (answer["code"], answer["error"], answer["left"]) == (2, None, []), answer
    (line,) = answer["stderr"].splitlines()
    said = f"{disk} cannot be written to; name another folder"
    assert (said if name != "bench" else "Read-only file system") in line and disk in line


def without_rights():
    """Return the words by which a command runs without the rights of root."""
    if os.geteuid() != 0:
        return []
    if not shutil.which("setpriv"):  # who may write anywhere, but for this
        pytest.skip("setpriv takes root its rights")
    return ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]


def test_an_index_in_a_folder_that_can_only_be_read_stays_as_it_is(tmp_path):
    write_indices(tmp_path)
    before = {path.name: path.read_bytes() for path in (tmp_path / "one").iterdir()}
    tmp_path.chmod(0o555)
    (tmp_path / "one").chmod(0o555)
    command = [sys.executable, "-m", "pqpp_cli.main", "search", "add", "one", "e.npy"]
    done = subprocess.run(
        [*without_rights(), *command], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
    assert f"{tmp_path}/one cannot be written to; name another folder" in done.stderr
    assert {path.name: path.read_bytes() for path in (tmp_path / "one").iterdir()} == before
    assert {path.name for path in tmp_path.iterdir()} == {"one", "two", "e.npy", "q.npy"}


def test_a_folder_without_write_permission_is_one_line(tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    user = without_rights()
    for name in ("o.csv", "sub/o.csv"):
        command = [sys.executable, "-m", "pqpp_cli.main", "predict", "a cat", "--output", name]
        done = subprocess.run([*user, *command], cwd=closed, capture_output=True, text=True)
        said = f"pqpp: error: --output {closed} cannot be written to; name another folder\n"
        assert (done.returncode, done.stderr) == (2, said)
    assert not list(closed.iterdir())


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device is full here")
def test_a_full_disk_behind_standard_output_is_one_line_for_a_process_too(tmp_path):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    words = [sys.executable, "-m", "pqpp_cli.main", "models", "autoload", "status"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            words, stdout=full, stderr=subprocess.PIPE, text=True, env=environment, check=False
        )
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert done.stderr.startswith("pqpp: error: No space left on device")
