"""Outputs of every command must not replace inputs or files of other types."""

import dataclasses
import sqlite3

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from pqpp_cli.command import check_outputs
from pqpp_cli.commands import iterate_command_classes
from pqpp_cli.main import main
from pqpp_files.errors import PqppError
from pqpp_files.options.option import NEEDED, get_fields

INPUTS = ("file", "folder", "images", "name")


def get_path_options(kind, roles):
    return [field for field in get_fields(kind) if field.metadata.get("path") in roles]


OUTPUTS = [
    pytest.param(kind, field, id=f"{kind.__module__.removeprefix('pqpp_cli.')}-{field.name}")
    for kind in iterate_command_classes()
    for field in get_path_options(kind, ["output file"])
]


def make_command(kind, **values):
    """Return a command with some values, without checking them."""
    command = object.__new__(kind)
    for field in get_fields(kind):
        is_made = field.default is dataclasses.MISSING
        value = field.default_factory() if is_made else field.default
        object.__setattr__(command, field.name, None if value is NEEDED else value)
    for field in get_path_options(kind, ["output file"]):
        object.__setattr__(command, field.name, None)
    for name, value in values.items():
        object.__setattr__(command, name, value)
    return command


def with_valid_ending(path, field):
    """Return the path with an ending that the output may have."""
    return path.with_suffix(field.metadata.get("endings", [".json"])[0])


@pytest.mark.parametrize(("kind", "output"), OUTPUTS)
def test_output_must_not_replace_an_input(kind, output, tmp_path, monkeypatch):
    """Inputs include files in an input folder, and FILE:COLUMN in any option."""
    folder = tmp_path / "read"
    folder.mkdir()
    file = with_valid_ending(folder / "metadata", output)
    file.write_text("a cat\n")
    for field in get_fields(kind):
        role = field.metadata.get("path", "")
        for source in (file, folder) if role in INPUTS else (f"{file}:a:b/c",) * (not role):
            value = (str(source),) if isinstance(field.default, tuple) else str(source)
            value = {"role": str(source)} if "dict" in str(field.type) else value
            with pytest.raises(PqppError, match=r"use another file|use a folder"):
                check_outputs(make_command(kind, **{output.name: str(file), field.name: value}))
    monkeypatch.setenv("PQPP_DATA_DIR", str(folder))
    with pytest.raises(PqppError, match="use another file"):
        check_outputs(make_command(kind, **{output.name: str(file)}))
    assert file.read_text() == "a cat\n"


@pytest.mark.parametrize(("kind", "output"), OUTPUTS)
def test_output_folder_is_not_created_early(kind, output, tmp_path):
    """The check creates no folder, but refuses a path that cannot become one."""
    file = with_valid_ending(tmp_path / "new" / "below" / "out", output)
    check_outputs(make_command(kind, **{output.name: str(file)}))
    assert not (tmp_path / "new").exists()
    (tmp_path / "new").touch()
    with pytest.raises(PqppError, match="is a file; use a folder"):
        check_outputs(make_command(kind, **{output.name: str(file)}))


def write_file_type(path, kind):
    if kind == "Parquet":
        pq.write_table(pa.table({"prompt": ["a cat"]}), path)
    elif kind == "PNG":
        Image.new("RGB", (4, 4)).save(path, kind)
    elif kind == "SQLite":
        with sqlite3.connect(path) as db:
            db.execute("CREATE TABLE a (b)")
    else:
        path.write_bytes(b"IxFI\x08\0\0\0" if kind == "binary" else b"a cat\n")


@pytest.mark.parametrize(("kind", "output"), OUTPUTS)
def test_output_must_not_replace_another_file_type(kind, output, tmp_path):
    path = with_valid_ending(tmp_path / "old", output)
    allowed = make_command(kind, **{output.name: str(path)}).get_output_type(output.name)
    for other in ("Parquet", "PNG", "SQLite", "binary", "text"):
        path.unlink(missing_ok=True)
        write_file_type(path, other)
        command = make_command(kind, **{output.name: str(path)})
        if other == allowed:
            check_outputs(command)
        else:
            with pytest.raises(PqppError, match="would be overwritten"):
                check_outputs(command)


def test_outputs_keep_modes_and_secrets_are_private(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for mode in (0o600, 0o640, 0o666, 0o444):
        output = tmp_path / f"{mode}.csv"
        output.write_text("old")
        output.chmod(mode)
        assert main(["predict", "a cat", "--output", str(output)]) == 0
        assert output.stat().st_mode & 0o777 == mode and output.read_text() != "old"
    Image.new("RGB", (8, 8)).save("a.png")
    (tmp_path / "prompts.csv").write_text("prompt,image\na cat,a.png\n")
    assert main(["annotate", "init", "study.yaml", "--file", "prompts.csv"]) == 0
    assert main(["annotate", "invite", "study.yaml", "--output", "links.csv"]) == 0
    assert main(["annotate", "backup", "study.yaml", "--output", "monday.db"]) == 0
    (database,) = set(tmp_path.glob("*.db")) - {tmp_path / "monday.db"}
    for path in (database, tmp_path / "links.csv", tmp_path / "monday.db"):
        assert path.stat().st_mode & 0o777 == 0o600, path
