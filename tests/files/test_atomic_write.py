"""Writing beside and renaming: the old one or the new one is there, and nobody's files are lost."""

import os
import subprocess
import sys
import threading

import pytest

from pqpp_files import atomic_write as module
from pqpp_files.atomic_write import atomic_folder, atomic_write, write_file
from pqpp_files.errors import FileError
from pqpp_files.paths import check_output, check_output_folder

FILES = ("config.json", "model-*.safetensors")


def held(folder):
    return {path.name: path.read_text() for path in folder.iterdir()}


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def write(folder, text):
    with atomic_folder(folder, FILES) as new:
        (new / "config.json").write_text(text)


def test_links_are_kept(tmp_path):
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to("real.txt")
    write_file(tmp_path / "link.txt", "new")
    assert (tmp_path / "link.txt").is_symlink() and (tmp_path / "real.txt").read_text() == "new"
    (tmp_path / "far").mkdir()
    (tmp_path / "later").symlink_to("far/absent.txt")
    write_file(tmp_path / "later", "new")
    assert (tmp_path / "later").is_symlink()
    assert (tmp_path / "far" / "absent.txt").read_text() == "new"


def test_circular_links_are_refused(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    for write_to in (check_output, lambda path: write_file(path, "x"), lambda p: write(p, "x")):
        with pytest.raises(FileError, match="circular symbolic link; remove"):
            write_to(tmp_path / "a")
    with pytest.raises(FileError, match="circular symbolic link; remove"):
        check_output_folder(tmp_path / "a" / "x", inputs=["an input"])
    with pytest.raises(FileError, match="a lone surrogate; remove"), atomic_folder("\ud800"):
        pass


def test_pipes_are_written_to(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    said = []
    reader = threading.Thread(target=lambda: said.append(pipe.read_text()))
    reader.start()
    write_file(pipe, "through")
    reader.join(timeout=300)
    assert said == ["through"] and not pipe.is_file()


FULL = """
import resource, sys
from pqpp_cli.main import main
from pqpp_files.atomic_write import atomic_folder, atomic_write, write_file

resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
if sys.argv[1] == "folder":
    with atomic_folder("it") as new:
        (new / "a").write_bytes(bytes(5000))
if sys.argv[1] == "file":
    write_file("it", bytes(5000))
sys.exit(main(["predict", *["a cat"] * 500, "--predictor", "mean_word_length", "--output", "it"]))
"""


@pytest.mark.skipif(os.name == "nt", reason="limits are a thing of Unix")
@pytest.mark.parametrize("kind", ["file", "folder", "command"])
def test_full_disk_error_names_the_output(tmp_path, kind):
    words = [sys.executable, "-c", FULL, kind]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    line = done.stderr.splitlines()[-1]
    assert "exceeds the size limit" in line
    assert "it" in line and ".pqpp-" not in line and names(tmp_path) == []
    if kind == "command":
        assert done.returncode == 2 and done.stderr.count("\n") == 1
        assert line.startswith("pqpp: error: it: the file exceeds")


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, OSError])
def test_interrupted_write_keeps_the_old_folder(tmp_path, interruption):
    write(tmp_path / "model", "old")
    with pytest.raises(interruption), atomic_folder(tmp_path / "model", FILES) as new:
        (new / "config.json").write_text("half")
        raise interruption
    assert held(tmp_path / "model") == {"config.json": "old"}
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_concurrent_writers_leave_one_result(tmp_path):
    faults, late, place = [], [], tmp_path / "model"

    def work(number):
        for turn in range(20):
            try:
                write(place, f"{number} {turn}")
            except FileError:  # another was first
                late.append(f"{number} {turn}")
            except BaseException as error:
                faults.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == [] and [path.name for path in tmp_path.iterdir()] == ["model"]
    assert len(held(place)) == 1 and held(place)["config.json"] not in late


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_folders_with_other_files_are_refused(tmp_path, when):
    write(tmp_path / "model", "old")
    mine = tmp_path / "model" / "notes.txt"
    said = r"contains other files \(notes.txt\); choose another folder"
    if when == "before":
        mine.write_text("mine")
        with pytest.raises(FileError, match=said):
            check_output_folder(tmp_path / "model", FILES)
    with pytest.raises(FileError, match=said), atomic_folder(tmp_path / "model", FILES) as new:
        mine.write_text("mine")
        (new / "config.json").write_text("new")
    assert held(tmp_path / "model") == {"config.json": "old", "notes.txt": "mine"}


KILLED = """
import os, signal
from pqpp_files.atomic_write import atomic_write
with atomic_write("a.txt") as beside:
    beside.write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_temporary_files_of_killed_runs_are_removed(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("old")
    subprocess.run([sys.executable, "-c", KILLED], cwd=tmp_path)
    (litter,) = (name for name in names(tmp_path) if name != "a.txt")
    mine = tmp_path / ".a.txt.mine"
    mine.write_text("")
    monkeypatch.setattr(module, "_CLEANED_FOLDERS", {tmp_path})
    with atomic_write(tmp_path / "other") as living:
        monkeypatch.setattr(module, "_CLEANED_FOLDERS", set())
        monkeypatch.setattr(module, "_MACHINE", "0" * 8)
        write_file(tmp_path / "a.txt", "new")
        assert (tmp_path / litter).exists()  # of another machine, for all that is known
        monkeypatch.undo()
        monkeypatch.setattr(module, "_CLEANED_FOLDERS", set())
        write_file(tmp_path / "a.txt", "new")
        assert not (tmp_path / litter).exists() and living.exists() and mine.exists()


def test_output_must_not_be_an_input(tmp_path):
    (tmp_path / "a.csv").write_text("x")
    (tmp_path / "link.csv").symlink_to("a.csv")
    os.link(tmp_path / "a.csv", tmp_path / "hard.csv")
    for name in ("a.csv", "link.csv", "hard.csv"):
        with pytest.raises(FileError, match=r"is the input .*a\.csv; name another file"):
            check_output(tmp_path / name, [tmp_path / "absent", tmp_path / "a.csv"])
    check_output(tmp_path / "b.csv", [tmp_path / "a.csv", tmp_path / "b.csv"])
    with pytest.raises(FileError, match="contains the input"):
        check_output_folder(tmp_path, inputs=[tmp_path / "a.csv"])
    check_output_folder(tmp_path / "new", inputs=[tmp_path / "a.csv"])


def test_outputs_that_cannot_be_written(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("x")
    for path, said in ((tmp_path, "is a folder"), (tmp_path / "a.csv" / "b", "a.csv is a file")):
        with pytest.raises(FileError, match=said):
            check_output(path)
    check_output(tmp_path / "new" / "b.csv")
    assert names(tmp_path) == ["a.csv"]
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(FileError, match="no permission to write to"):
        check_output(tmp_path / "new" / "b.csv")


def test_a_new_folder_that_another_run_wrote_meanwhile_stays(tmp_path):
    with pytest.raises(FileError, match="another process"), atomic_folder(tmp_path / "a"):
        (tmp_path / "a").mkdir()
