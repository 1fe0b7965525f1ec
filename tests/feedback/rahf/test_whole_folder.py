"""A saved folder is the old one or the new one, and nobody's files are lost."""

import pytest

from pqpp_files.errors import FileError
from pqpp_files.whole_folder import refuse_foreign_files, whole_folder

FILES = ("config.json", "model-*.safetensors")


def held(folder):
    return {path.name: path.read_text() for path in folder.iterdir()}


def write(folder, text):
    with whole_folder(folder, FILES) as beside:
        (beside / "config.json").write_text(text)


def test_a_folder_is_written_and_replaced_as_a_whole(tmp_path):
    place = tmp_path / "deep" / "model"
    write(place, "old")
    (place / "model-00001.safetensors").write_text("weights")
    write(place, "new")
    assert held(place) == {"config.json": "new"}
    assert [path.name for path in place.parent.iterdir()] == ["model"]
    assert oct(place.stat().st_mode & 0o777) == oct(place.parent.stat().st_mode & 0o777)


def test_an_empty_folder_is_taken_and_a_file_is_not(tmp_path):
    (tmp_path / "empty").mkdir()
    write(tmp_path / "empty", "new")
    (tmp_path / "file").write_text("mine")
    with pytest.raises(FileError, match="is a file; name a folder"):
        write(tmp_path / "file", "new")
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, OSError])
def test_an_interruption_while_writing_leaves_the_old_folder(tmp_path, interruption):
    write(tmp_path / "model", "old")
    with pytest.raises(interruption), whole_folder(tmp_path / "model", FILES) as beside:
        (beside / "config.json").write_text("half")
        raise interruption
    assert held(tmp_path / "model") == {"config.json": "old"}
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_an_interruption_between_the_renames_brings_the_old_folder_back(tmp_path, monkeypatch):
    import pathlib

    write(tmp_path / "model", "old")
    rename = pathlib.Path.rename

    def fails_for_the_new(self, target):
        if self.name == "new":
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr(pathlib.Path, "rename", fails_for_the_new)
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "model", "new")
    assert held(tmp_path / "model") == {"config.json": "old"}


def test_two_at_once_do_not_meet(tmp_path):
    with whole_folder(tmp_path / "model", FILES) as one:
        (one / "config.json").write_text("one")
        write(tmp_path / "model", "two")
        assert held(tmp_path / "model") == {"config.json": "two"}
    assert held(tmp_path / "model") == {"config.json": "one"}


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_foreign_files_stay(tmp_path, when):
    write(tmp_path / "model", "old")
    mine = tmp_path / "model" / "notes.txt"
    said = r"holds other things \(notes.txt\); name a new folder"
    if when == "before":
        mine.write_text("mine")
        with pytest.raises(FileError, match=said):
            refuse_foreign_files(tmp_path / "model", FILES)
    with (
        pytest.raises(FileError, match=said),
        whole_folder(tmp_path / "model", FILES) as beside,
    ):
        mine.write_text("mine")
        (beside / "config.json").write_text("new")
    assert held(tmp_path / "model") == {"config.json": "old", "notes.txt": "mine"}
