"""Atomic writes: links, pipes, interrupted and concurrent writers, and refused paths."""

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


def read_files(folder):
    return {path.name: path.read_text() for path in folder.iterdir()}


def list_names(folder):
    return sorted(path.name for path in folder.iterdir())


def write_folder(folder, text):
    with atomic_folder(folder, FILES) as new:
        (new / "config.json").write_text(text)


def test_symbolic_links_are_kept(tmp_path):
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
    for write in (check_output, lambda path: write_file(path, "x"), lambda p: write_folder(p, "x")):
        with pytest.raises(FileError, match="circular symbolic link; remove"):
            write(tmp_path / "a")
    with pytest.raises(FileError, match="circular symbolic link; remove"):
        check_output_folder(tmp_path / "a" / "x", inputs=["an input"])
    with pytest.raises(FileError, match="a lone surrogate; remove"), atomic_folder("\ud800"):
        pass


def test_pipes_are_written_to(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    received = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_text()))
    reader.start()
    write_file(pipe, "through")
    reader.join(timeout=300)
    assert received == ["through"] and not pipe.is_file()


FULL_DISK_SCRIPT = """
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


@pytest.mark.skipif(os.name == "nt", reason="needs resource limits")
@pytest.mark.parametrize("kind", ["file", "folder", "command"])
def test_full_disk_error_names_the_output(tmp_path, kind):
    words = [sys.executable, "-c", FULL_DISK_SCRIPT, kind]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    line = done.stderr.splitlines()[-1]
    assert "exceeds the size limit" in line
    assert "it" in line and ".pqpp-" not in line and list_names(tmp_path) == []
    if kind == "command":
        assert done.returncode == 2 and done.stderr.count("\n") == 1
        assert line.startswith("pqpp: error: it: the file exceeds")


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, OSError])
def test_interrupted_write_keeps_the_old_folder(tmp_path, interruption):
    write_folder(tmp_path / "model", "old")
    with pytest.raises(interruption), atomic_folder(tmp_path / "model", FILES) as new:
        (new / "config.json").write_text("half")
        raise interruption
    assert read_files(tmp_path / "model") == {"config.json": "old"}
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_concurrent_writers_leave_one_result(tmp_path):
    errors, failed, folder = [], [], tmp_path / "model"

    def work(number):
        for turn in range(20):
            try:
                write_folder(folder, f"{number} {turn}")
            except FileError:  # another writer was first
                failed.append(f"{number} {turn}")
            except BaseException as error:
                errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == [] and [path.name for path in tmp_path.iterdir()] == ["model"]
    assert len(read_files(folder)) == 1 and read_files(folder)["config.json"] not in failed


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_folders_with_other_files_are_refused(tmp_path, when):
    write_folder(tmp_path / "model", "old")
    notes = tmp_path / "model" / "notes.txt"
    message = r"contains other files \(notes.txt\); choose another folder"
    if when == "before":
        notes.write_text("mine")
        with pytest.raises(FileError, match=message):
            check_output_folder(tmp_path / "model", FILES)
    with pytest.raises(FileError, match=message), atomic_folder(tmp_path / "model", FILES) as new:
        notes.write_text("mine")
        (new / "config.json").write_text("new")
    assert read_files(tmp_path / "model") == {"config.json": "old", "notes.txt": "mine"}
    notes.rename(notes.with_name("config.json")).rename(notes.with_name("model-1.safetensors"))
    with pytest.raises(FileError, match=r"contains other files \(model-1.safetensors\)"):
        check_output_folder(tmp_path / "model", FILES)


KILLED_WRITER = """
import os, signal
from pqpp_files.atomic_write import atomic_write
with atomic_write("a.txt") as temp_path:
    temp_path.write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_temporary_files_of_killed_runs_are_removed(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("old")
    subprocess.run([sys.executable, "-c", KILLED_WRITER], cwd=tmp_path)
    (leftover,) = (name for name in list_names(tmp_path) if name != "a.txt")
    other_file = tmp_path / ".a.txt.mine"
    other_file.write_text("")
    monkeypatch.setattr(module, "_CLEANED_FOLDERS", {tmp_path})
    with atomic_write(tmp_path / "other") as unfinished:
        monkeypatch.setattr(module, "_CLEANED_FOLDERS", set())
        monkeypatch.setattr(module, "_MACHINE", "0" * 8)
        write_file(tmp_path / "a.txt", "new")
        assert (tmp_path / leftover).exists()  # may belong to another machine
        monkeypatch.undo()
        monkeypatch.setattr(module, "_CLEANED_FOLDERS", set())
        write_file(tmp_path / "a.txt", "new")
        assert not (tmp_path / leftover).exists() and unfinished.exists() and other_file.exists()


def test_output_must_not_be_an_input(tmp_path):
    (tmp_path / "a.csv").write_text("x")
    (tmp_path / "link.csv").symlink_to("a.csv")
    os.link(tmp_path / "a.csv", tmp_path / "hard.csv")
    for name in ("a.csv", "link.csv", "hard.csv"):
        with pytest.raises(FileError, match=r"is the input .*a\.csv; use another file"):
            check_output(tmp_path / name, [tmp_path / "absent", tmp_path / "a.csv"])
    check_output(tmp_path / "b.csv", [tmp_path / "a.csv", tmp_path / "b.csv"])
    with pytest.raises(FileError, match="contains the input"):
        check_output_folder(tmp_path, inputs=[tmp_path / "a.csv"])
    check_output_folder(tmp_path / "new", inputs=[tmp_path / "a.csv"])


def test_unwritable_outputs_are_refused(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("x")
    for path, message in ((tmp_path, "is a folder"), (tmp_path / "a.csv" / "b", "a.csv is a file")):
        with pytest.raises(FileError, match=message):
            check_output(path)
    check_output(tmp_path / "new" / "b.csv")
    assert list_names(tmp_path) == ["a.csv"]
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(FileError, match="no permission to write to"):
        check_output(tmp_path / "new" / "b.csv")


def test_folder_created_by_another_run_is_kept(tmp_path):
    with pytest.raises(FileError, match="another process"), atomic_folder(tmp_path / "a"):
        (tmp_path / "a").mkdir()
