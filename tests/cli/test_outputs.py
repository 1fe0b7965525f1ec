"""No output replaces an input or would be overwritten: every command, from its declarations."""

import dataclasses
import sqlite3

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image
from safetensors.numpy import save_file

from pqpp_cli.command import check_outputs
from pqpp_cli.commands import iterate_command_classes
from pqpp_cli.main import main
from pqpp_files.errors import PqppError
from pqpp_files.options.option import NEEDED, get_fields

INPUTS = ("file", "folder", "images", "name")
ENDINGS = {"Parquet": ".parquet", "PNG": ".png", "PDF": ".pdf", "gzip": ".gz"}


def options_of(kind, roles):
    return [field for field in get_fields(kind) if field.metadata.get("path") in roles]


OUTPUTS = [
    pytest.param(kind, field, id=f"{kind.__module__.removeprefix('pqpp_cli.')}-{field.name}")
    for kind in iterate_command_classes()
    for field in options_of(kind, ["output file"])
]


def made(kind, **values):
    """A command with some values, none of which was checked."""
    command = object.__new__(kind)
    for field in get_fields(kind):
        value = field.default
        if value is dataclasses.MISSING:
            value = field.default_factory()
        object.__setattr__(command, field.name, None if value is NEEDED else value)
    for field in options_of(kind, ["output file"]):
        object.__setattr__(command, field.name, None)
    for name, value in values.items():
        object.__setattr__(command, name, value)
    return command


def named_so(path, field):
    """A name that the output may have."""
    endings = field.metadata.get("endings")
    holds = field.metadata.get("holds", ("text",))
    return path.with_suffix(endings[0] if endings else ENDINGS.get(holds[0], ".json"))


@pytest.mark.parametrize(("kind", "output"), OUTPUTS)
def test_an_output_replaces_no_input(kind, output, tmp_path):
    """Neither a file that an option names nor, but for pages beside images, one in its folder."""
    folder = tmp_path / "read"
    folder.mkdir()
    file = named_so(folder / "metadata", output)
    write_kind(file, output.metadata.get("holds", ("text",))[0])
    before = file.read_bytes()
    for field in options_of(kind, INPUTS):
        for given in (file, folder):
            value = (str(given),) if isinstance(field.default, tuple) else str(given)
            value = {"role": str(given)} if "dict" in str(field.type) else value
            with pytest.raises(PqppError, match=r"name another file|name a folder"):
                check_outputs(made(kind, **{output.name: str(file), field.name: value}))
    assert file.read_bytes() == before


@pytest.mark.parametrize(("kind", "output"), OUTPUTS)
def test_output_folder_is_created(kind, output, tmp_path):
    """It is made when there is something to write; what cannot be one is refused before."""
    file = named_so(tmp_path / "new" / "below" / "out", output)
    check_outputs(made(kind, **{output.name: str(file)}))
    assert not (tmp_path / "new").exists()
    (tmp_path / "new").touch()
    with pytest.raises(PqppError, match="is a file; name a folder"):
        check_outputs(made(kind, **{output.name: str(file)}))


def write_kind(path, kind):
    if kind == "Parquet":
        pq.write_table(pa.table({"prompt": ["a cat"]}), path)
    elif kind in ("PNG", "JPEG"):
        Image.new("RGB", (4, 4)).save(path, kind)
    elif kind == "NumPy":
        with path.open("wb") as file:
            np.save(file, np.zeros(3))
    elif kind == "SQLite":
        with sqlite3.connect(path) as db:
            db.execute("CREATE TABLE a (b)")
    elif kind == "safetensors":
        save_file({"a": np.zeros(3)}, path)
    elif kind == "faiss":
        path.write_bytes(b"IxFI\x08\0\0\0" + bytes(40))
    else:
        path.write_text("a cat\n")


@pytest.mark.parametrize(("kind", "output"), OUTPUTS)
def test_an_output_replaces_no_file_of_another_kind(kind, output, tmp_path):
    place = named_so(tmp_path / "old", output)
    allowed = made(kind, **{output.name: str(place)}).get_output_type(output.name)
    for other in ("Parquet", "PNG", "JPEG", "NumPy", "SQLite", "safetensors", "faiss", "text"):
        place.unlink(missing_ok=True)
        write_kind(place, other)
        command = made(kind, **{output.name: str(place)})
        if other == allowed:
            check_outputs(command)
        else:
            with pytest.raises(PqppError, match="would be overwritten"):
                check_outputs(command)


def test_outputs_keep_modes_and_secrets_are_private(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for mode in (0o600, 0o640, 0o666, 0o444):
        kept = tmp_path / f"{mode}.csv"
        kept.write_text("old")
        kept.chmod(mode)
        assert main(["predict", "a cat", "--output", str(kept)]) == 0
        assert kept.stat().st_mode & 0o777 == mode and kept.read_text() != "old"
    Image.new("RGB", (8, 8)).save("a.png")
    (tmp_path / "prompts.csv").write_text("prompt,image\na cat,a.png\n")
    assert main(["annotate", "init", "study.yaml", "--file", "prompts.csv"]) == 0
    assert main(["annotate", "invite", "study.yaml", "--output", "links.csv"]) == 0
    assert main(["annotate", "backup", "study.yaml", "--output", "monday.db"]) == 0
    (database,) = set(tmp_path.glob("*.db")) - {tmp_path / "monday.db"}
    for path in (database, tmp_path / "links.csv", tmp_path / "monday.db"):
        assert path.stat().st_mode & 0o777 == 0o600, path
