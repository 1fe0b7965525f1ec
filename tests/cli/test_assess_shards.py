"""`pqpp assess` with shards."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("PIL.Image", reason="images need pillow")

from support.redness import Redness, write_images

from pqpp_cli.main import main
from pqpp_feedback.assessors import RahfOptions


@pytest.fixture
def study(tmp_path):
    prompts = write_images(tmp_path / "images", 9, ("sdxl",))
    table = pa.Table.from_pylist(prompts).append_column("note", pa.array(["é"] * 9))
    pq.write_table(table.slice(0, 5), tmp_path / "a.parquet")
    pq.write_table(table.slice(5), tmp_path / "b.parquet")
    return tmp_path


def make_command(study, *more):
    words = ["--image-dir", str(study), "--file", str(study / "[ab].parquet"), "--model", "a-model"]
    return ["assess", "rahf", *words, *more]


def test_shards_write_tables_of_verdicts(study, monkeypatch, capsys):
    monkeypatch.setattr(RahfOptions, "load", lambda options: [Redness()])
    command = make_command(study, "--shard-size", "4", "--output", str(study / "verdicts"))
    assert main([*command, "--shard", "0/2"]) == 0
    assert "2 of 3 shards" in capsys.readouterr().err and main(command) == 0
    assert "1 of 3 shards" in (output := capsys.readouterr().err) and "already existed" in output
    tables = sorted(map(str, (study / "verdicts").glob("part-*")))
    rows = [row for table in tables for row in pq.read_table(table).to_pylist()]
    assert [row["image"] for row in rows] == [f"{n}/sdxl_0.png" for n in range(9)]
    page = ["--image-dir", str(study), "--output", str(study / "g.html")]
    assert main(["assess", "gallery", *tables, *page]) == 0
    assert (study / "g.html").read_text().count("8/sdxl_0.png")


def test_invalid_shard_options_are_one_line(study, monkeypatch, capsys):
    monkeypatch.chdir(study)
    monkeypatch.setattr(RahfOptions, "load", lambda options: [Redness()])
    for more, message in (
        (["--gallery", "g.html"], "--gallery does not apply with shards"),
        (["--column", "caption"], "no column 'caption'"),
    ):
        assert main(make_command(study, "--shard", "0/2", "--output", "out", *more)) == 2
        error = capsys.readouterr().err
        assert message in error and error.count("\n") == 1 and not (study / "out").exists()
