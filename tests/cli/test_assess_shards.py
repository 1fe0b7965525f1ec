"""`pqpp assess` from shard to shard."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("PIL.Image", reason="images need pillow")

from support.made_assessor import Redness, write_images

from pqpp_cli.main import main
from pqpp_feedback.assessors import RahfOptions


@pytest.fixture
def study(tmp_path):
    prompts = write_images(tmp_path / "images", 9, ("sdxl",))
    table = pa.Table.from_pylist(prompts).append_column("note", pa.array(["é"] * 9))
    pq.write_table(table.slice(0, 5), tmp_path / "a.parquet")
    pq.write_table(table.slice(5), tmp_path / "b.parquet")
    return tmp_path


def words(study, *more):
    usual = {"--image-dir": str(study), "--model": "a-model",
             "--file": str(study / "[ab].parquet")}  # fmt: skip
    kept = [word for option in usual.items() if option[0] not in more for word in option]
    return ["assess", "rahf", *kept, *more]


def test_assess_in_shards_writes_tables_of_verdicts(study, monkeypatch, capsys):
    monkeypatch.setattr(RahfOptions, "load", lambda options: [Redness()])
    asked = words(study, "--shard-size", "4", "--output", str(study / "verdicts"))
    assert main([*asked, "--shard", "0/2"]) == 0
    assert "2 of 3 shards" in capsys.readouterr().err and main(asked) == 0
    assert "1 of 3 shards" in (said := capsys.readouterr().err) and "already existed" in said
    tables = sorted(map(str, (study / "verdicts").glob("part-*")))
    rows = [row for one in tables for row in pq.read_table(one).to_pylist()]
    assert [row["image"] for row in rows] == [f"{n}/sdxl_0.png" for n in range(9)]
    page = ["--image-dir", str(study), "--output", str(study / "g.html")]
    assert main(["assess", "gallery", *tables, *page]) == 0
    assert (study / "g.html").read_text().count("8/sdxl_0.png")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--output", "out", "--gallery", "g.html"], "--gallery cannot be used with shards"),
        (["--output", "out", "--column", "caption"], "no column 'caption'"),
    ],
)
def test_invalid_shard_options_are_one_line(study, more, said, monkeypatch, capsys):
    monkeypatch.chdir(study)
    monkeypatch.setattr(RahfOptions, "load", lambda options: [Redness()])
    assert main(words(study, "--shard", "0/2", *more)) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1 and not (study / "out").exists()
