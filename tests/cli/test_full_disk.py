"""Commands on a full disk: one line that names the file, and nothing half-written."""

import os
import shutil
import subprocess
import sys

import pytest
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
    "fit": ("fit sample --targets mean_hbpp --output @/m", (4096, 400_000), "@/m"),
    "build": ("build votes.csv --output @/b", (4096, 20_000), "@/b"),
    "predict": (
        "predict --file p.csv --predictor mean_word_length --output @/p.csv",
        (20_000, 40_960),
        "@/p.csv",
    ),
}


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """What each command ended with, by its name and the size of the disk."""
    folder = tmp_path_factory.mktemp("full")
    disk = str(folder / "disk")
    (folder / "votes.csv").write_text(VOTES)
    (folder / "p.csv").write_text("prompt\n" + "\n".join(f"a cat and {n}" for n in range(3000)))
    cases = []
    for words, sizes, _ in CASES.values():
        said = words.replace("@", disk).split()
        for size in (*sizes, READ_ONLY):
            cases.append(
                {"disk": disk, "size": size, "words": said, "cache": str(folder / "cache")}
            )
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
        lines = answer["stderr"].splitlines()
        said = [line for line in lines if " kB on disk" not in line]
        assert len(said) == 1 and said[0].startswith("pqpp: error: "), said
        assert f"{place.replace('@', disk)}: no space is left" in said[0]
        assert not answer["left"]


@mounted
@pytest.mark.parametrize("name", CASES)
def test_a_disk_that_can_only_be_read_is_one_line(ended, name):
    disk, found = ended
    answer = found[name, READ_ONLY]
    assert (answer["code"], answer["error"], answer["left"]) == (2, None, []), answer
    (line,) = answer["stderr"].splitlines()
    assert f"{disk} cannot be written to; name another folder" in line


def without_rights():
    """Return the words by which a command runs without the rights of root."""
    if os.geteuid() != 0:
        return []
    if not shutil.which("setpriv"):  # who may write anywhere, but for this
        pytest.skip("setpriv takes root its rights")
    return ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]


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
