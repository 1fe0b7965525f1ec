"""Writing beside and renaming: the old file or the new one, never half, never another."""

import os
import threading

import pytest

from pqpp_files.written_beside import written_beside


def test_interrupted_writer_leaves_the_old_file(tmp_path):
    target = tmp_path / "a.txt"
    target.write_text("old")
    with pytest.raises(RuntimeError), written_beside(target) as beside:
        beside.write_text("half")
        raise RuntimeError("killed")
    assert target.read_text() == "old" and list(tmp_path.iterdir()) == [target]


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to("real.txt")
    with written_beside(tmp_path / "link.txt") as beside:
        beside.write_text("new")
    assert (tmp_path / "link.txt").is_symlink() and (tmp_path / "real.txt").read_text() == "new"


def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    said = []
    reader = threading.Thread(target=lambda: said.append(pipe.read_text()))
    reader.start()
    with written_beside(pipe) as beside:
        beside.write_text("through")
    reader.join(timeout=30)
    assert said == ["through"] and not pipe.is_file()


def test_what_is_written_can_be_read_by_others(tmp_path):
    with written_beside(tmp_path / "a.txt") as beside:
        beside.write_text("x")
    umask = os.umask(0)
    os.umask(umask)
    assert (tmp_path / "a.txt").stat().st_mode & 0o777 == 0o666 & ~umask


def test_error_names_the_file_that_was_asked_for(tmp_path):
    (tmp_path / "a-file").write_text("")
    target = tmp_path / "a-file" / "wanted"
    with pytest.raises(OSError) as caught, written_beside(target):
        pass
    assert str(tmp_path / "a-file") in str(caught.value)
