"""Commands on a full disk: one line that names the file, and nothing half-written."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.benchmark_folders import write_conqa
from support.small_disk import can_mount, run_on_small_disks

mounted = pytest.mark.skipif(not can_mount(), reason="no process may mount a disk here")

VOTES = "prompt,image,model,annotator,label\n" + "".join(
    f"caption {n},{n}.png,sdxl,ann,{n % 4 - 1}\n" for n in range(2000)
)
READ_ONLY = 0
# Words, the sizes that are too small, and what was asked for, in the words where `@` is the disk.
CASES = {
    "bench": (("bench", "--subset", "sample", "--predictor", "n_words"), (4096, 40_000), "@/cache"),
    "bench-table": (
        ("bench", "--predictor", "n_words", "--format", "csv", "--output", "@/o.csv"),
        (4096,),
        "@/o.csv",
    ),
    "bench-report": (
        ("bench", "--predictor", "n_words", "--report", "@/r.html"),
        (4096, 150_000),
        "@/r.html",
    ),
    "fit": (("fit", "sample", "--targets", "mean_hbpp", "--output", "@/m"), (4096, 400_000), "@/m"),
    "build": (("build", "votes.csv", "--output", "@/b"), (4096, 20_000), "@/b"),
    "export": (
        ("datasets", "export", "conqa", "--data-dir", "conqa", "--output", "@/x"),
        (4096, 20_000),
        "@/x",
    ),
    "predict": (
        ("predict", "--file", "p.csv", "--predictor", "n_words", "--output", "@/p.csv"),
        (20_000, 40_960),
        "@/p.csv",
    ),
    "predict-parquet": (
        ("predict", "--file", "p.csv", "--predictor", "n_words", "--output", "@/p.parquet"),
        (4096,),
        "@/p.parquet",
    ),
}


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """What each command ended with, by its name and the size of the disk."""
    folder = tmp_path_factory.mktemp("full")
    disk = str(folder / "disk")
    (folder / "votes.csv").write_text(VOTES)
    (folder / "p.csv").write_text("prompt\n" + "\n".join(f"a cat and {n}" for n in range(3000)))
    write_conqa(folder / "conqa")
    cases = []
    for name, (words, sizes, _) in CASES.items():
        subset = ("--subset", "sample") if name.startswith("bench-") else ()
        said = [word.replace("@", disk) for word in (*words, *subset)]
        cache = f"{disk}/cache" if name == "bench" else str(folder / "cache")
        for size in (*sizes, READ_ONLY):
            cases.append({"disk": disk, "size": size, "words": said, "cache": cache})
    keys = [(name, size) for name, (_, sizes, _) in CASES.items() for size in (*sizes, READ_ONLY)]
    return disk, dict(zip(keys, run_on_small_disks(cases, folder), strict=True))


@mounted
@pytest.mark.parametrize("name", CASES)
def test_a_full_disk_is_one_line_and_leaves_nothing_half_written(ended, name):
    disk, found = ended
    _, sizes, place = CASES[name]
    for size in sizes:
        answer = found[name, size]
        assert (answer["code"], answer["error"]) == (2, None), answer
        said = [line for line in answer["stderr"].splitlines() if "not the published" not in line]
        assert len(said) == 1 and said[0].startswith("pqpp: error: "), said
        assert f"{place.replace('@', disk)}: no space is left" in said[0]
        assert re.search(r" \([\d,]+ are free\); make room, or name another place$", said[0])
        locks = {Path(one) for one in answer["left"] if one.startswith("cache")}
        assert not {Path(one) for one in answer["left"]} - locks
        assert not [one for one in locks if one.suffix == ".arrow"]


@mounted
@pytest.mark.parametrize(("name", "wanted"), [("predict", 38_890), ("fit", 4_648_416)])
def test_what_is_known_to_be_too_large_is_said_with_its_size(ended, name, wanted):
    _, found = ended
    size = CASES[name][1][0]
    said = found[name, size]["stderr"]
    numbers = re.search(r"for its ([\d,]+) bytes \(([\d,]+) are free\)", said)
    counts = [int(one.replace(",", "")) for one in numbers.groups()]
    assert counts[0] == pytest.approx(wanted, rel=0.2) and counts[1] <= size + 4096


@mounted
@pytest.mark.parametrize("name", CASES)
def test_a_disk_that_can_only_be_read_is_one_line(ended, name):
    disk, found = ended
    answer = found[name, READ_ONLY]
    assert (answer["code"], answer["error"], answer["left"]) == (2, None, []), answer
    (line,) = answer["stderr"].splitlines()
    said = f"{disk} cannot be written to; name another folder"
    assert (said if name != "bench" else "Read-only file system") in line and disk in line


def test_a_folder_without_write_permission_is_one_line(tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    user = []
    if os.geteuid() == 0:  # who may write anywhere, but for this
        if not shutil.which("setpriv"):
            pytest.skip("setpriv takes root its rights")
        user = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
    for name in ("o.csv", "sub/o.csv"):
        command = [sys.executable, "-m", "pqpp_cli.main", "predict", "a cat", "--output", name]
        done = subprocess.run([*user, *command], cwd=closed, capture_output=True, text=True)
        said = f"pqpp: error: --output {closed} cannot be written to; name another folder\n"
        assert (done.returncode, done.stderr) == (2, said)
    assert not list(closed.iterdir())
