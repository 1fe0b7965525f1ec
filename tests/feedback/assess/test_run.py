"""`assess`: reproducible tables, interrupted runs, and invalid images."""

import json
import random
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

Image = pytest.importorskip("PIL.Image", reason="images need pillow")

from support.redness import Redness, write_images  # noqa: E402

from pqpp_backbones.pretrained import ModelId  # noqa: E402
from pqpp_feedback.assess.pictures import find_pictures  # noqa: E402
from pqpp_feedback.assess.run import SHARD_SIZE, assess  # noqa: E402
from pqpp_feedback.assess.verdicts import COLUMNS, read_verdicts, rescore  # noqa: E402
from pqpp_feedback.errors import FeedbackError  # noqa: E402

TESTS = Path(__file__).resolve().parents[2]


@pytest.fixture
def pictures(tmp_path):
    prompts = write_images(tmp_path / "images", 50)
    images, missing = find_pictures(tmp_path, prompts)
    assert missing == [] and len(images) == 100
    return images


def test_rows_have_evidence_scores_and_models(pictures, tmp_path):
    summary = assess(pictures, [Redness()], tmp_path / "v.parquet")
    rows = list(read_verdicts(tmp_path / "v.parquet"))
    assert summary.rows == summary.images == len(rows) == 100
    row = next(row for row in rows if row["image"] == "7/sdxl_0.png")
    assert tuple(row) == COLUMNS
    values = [row[name] for name in ("prompt_id", "prompt", "task", "generator", "verdict")]
    assert values == ["7", "a red 7", "colour", "sdxl", False]
    assert row["score"] == 0.011765  # 3 of 255, rounded to six decimals
    assert json.loads(row["evidence"])["size"] == [12, 10]
    assert json.loads(row["model"]) == {"eye": "someone/eye"}
    assert json.loads(row["revision"]) == {"eye": "abc"}
    assert json.loads(row["inputs"]) == {"task": "colour"}


def test_keeps_verdicts_of_other_models(pictures, tmp_path):
    path = tmp_path / "v.parquet"
    assess(pictures, [Redness()], path)
    assess(pictures, [Redness()], path)  # the same model may replace its verdicts
    before = path.read_bytes()
    other = Redness()
    other.models = {"eye": ModelId("another/eye", "abc")}
    with pytest.raises(FeedbackError, match=r"contains verdicts of redness-mean by .*someone/eye"):
        assess(pictures, [other], path)
    assert path.read_bytes() == before and other.batches == []
    assert assess(pictures, [other], path, replace=True).rows == 100
    assert len(list(read_verdicts(path))) == 100

    def observe_late(*batch):
        assess(pictures, [Redness()], path)  # as another process may do at the same time
        return Redness.observe(other, *batch)

    path.unlink()
    other.observe = observe_late
    with pytest.raises(FeedbackError, match="contains verdicts of redness-mean"):
        assess(pictures, [other], path)
    assert path.read_bytes() == before
    pq.write_table(pa.table({"a": [1]}), path)
    with pytest.raises(FeedbackError, match="has no column 'image'; use a table"):
        assess(pictures, [Redness()], path, replace=True)


def test_table_does_not_depend_on_order_batches_or_processes(pictures, tmp_path, monkeypatch):
    assess(pictures, [Redness()], tmp_path / "v.parquet")
    expected = (tmp_path / "v.parquet").read_bytes()
    for path in (tmp_path / "v.csv", tmp_path / "v.xlsx", tmp_path / "v.jsonl"):
        assert assess(pictures, [Redness()], path).rows == 100
        assert list(read_verdicts(path)) == list(read_verdicts(tmp_path / "v.parquet")), path
    shuffled = random.Random(0).sample(pictures, len(pictures))
    for batch_size in (1, 7, 100):
        assess(shuffled, [Redness()], tmp_path / "w.parquet", batch_size)
        assert (tmp_path / "w.parquet").read_bytes() == expected
    for rank in (2, 1, 0):  # the last process merges the parts
        assessor = Redness()
        summary = assess(shuffled, [assessor], tmp_path / "x.parquet", share=f"{rank}/3")
        assert (summary.missing == 0) == (summary.rows == len(pictures)) == (rank == 0)
        assert ("shards are left" in summary.to_lines()[-1]) == (rank > 0)
        assert sum(map(len, assessor.batches)) < len(pictures)
    assert (tmp_path / "x.parquet").read_bytes() == expected
    assert not list(tmp_path.glob(".*"))
    for rank in "10":
        monkeypatch.setenv("RANK", rank)
        monkeypatch.setenv("WORLD_SIZE", "2")
        assess(shuffled, [Redness()], tmp_path / "y.parquet")
    assert (tmp_path / "y.parquet").read_bytes() == expected


KILLED_SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from support.redness import Redness, write_images
from pqpp_feedback.assess.pictures import find_pictures
from pqpp_feedback.assess.run import assess
folder = Path(sys.argv[2])
prompts = [{"prompt_id": n, "prompt": f"a red {n}", "task": "colour"} for n in range(50)]
found, _ = find_pictures(folder, prompts)
assess(found, [Redness(int(sys.argv[3]))], folder / "k.parquet", 8)
"""


def test_killed_run_resumes_to_the_same_table(pictures, tmp_path):
    assess(pictures, [Redness()], tmp_path / "v.parquet")
    for kill_after in (SHARD_SIZE + 1, 20):
        words = [sys.executable, "-c", KILLED_SCRIPT, str(TESTS), str(tmp_path), str(kill_after)]
        assert subprocess.run(words, check=False).returncode == -9
        assert not (tmp_path / "k.parquet").exists()
    last = Redness()
    assess(pictures, [last], tmp_path / "k.parquet", 100)
    assert sum(map(len, last.batches)) == len(pictures) - SHARD_SIZE  # one shard was complete
    assert (tmp_path / "k.parquet").read_bytes() == (tmp_path / "v.parquet").read_bytes()
    assert not list(tmp_path.glob(".*"))


def test_rescore_uses_stored_evidence(pictures, tmp_path):
    assess(pictures, [Redness()], tmp_path / "v.parquet")
    rows = list(read_verdicts(tmp_path / "v.parquet"))
    assert list(rescore(rows, [Redness()])) == rows
    strict = list(rescore(rows, [Redness(at_least=0.9)]))
    assert [row["score"] for row in strict] == [row["score"] for row in rows]
    assert sum(row["verdict"] for row in strict) < sum(row["verdict"] for row in rows)


def write_invalid_images(folder):
    """Write unusual and unreadable images, each with its own prompt."""
    Image.new("RGB", (1, 1)).save(folder / "tiny.png")
    Image.new("RGB", (40, 30), "red").save(folder / "whole.png")
    Image.new("CMYK", (40, 30), (0, 255, 255, 0)).save(folder / "cmyk.jpg")
    frames = [Image.new("RGB", (40, 30), colour) for colour in ("red", "blue")]
    frames[0].save(folder / "moving.gif", save_all=True, append_images=frames[1:])
    Image.fromarray(np.full((30, 40), 65535, np.uint16)).save(folder / "deep.png")
    Image.new("L", (10_000, 10_000), 255).save(folder / "huge.png")
    head = bytearray((folder / "whole.png").read_bytes())
    head[16:24] = struct.pack(">II", 20_000, 20_000)  # the header claims 400 megapixels
    head[29:33] = struct.pack(">I", zlib.crc32(head[12:29]))
    (folder / "bomb.png").write_bytes(head)
    Image.new("RGB", (20_000, 9), "red").save(folder / "long.png")
    (folder / "text.png").write_text("no image")
    (folder / "cut.png").write_bytes((folder / "whole.png").read_bytes()[:60])
    (folder / "empty.jpg").touch()
    Image.new("RGB", (40, 30), "red").save(folder / "refused.png")
    for path in sorted(folder.glob("*.*")):
        path.with_suffix(".txt").write_text(f"a {path.stem}")
    Image.new("RGB", (40, 30), "red").save(folder / "orphan.png")
    (folder / "latin.txt").write_bytes("caf\xe9".encode("latin-1"))
    Image.new("RGB", (40, 30), "red").save(folder / "latin.png")


REASONS = {
    "tiny": "at least 8 x 8 pixels; got 1 x 1",
    "text": "cannot read the image (UnidentifiedImageError)",
    "cut": "cannot read the image",
    "empty": "cannot read the image",
    "bomb": "cannot read the image (DecompressionBombError)",
    "refused": "it is refused",
    "orphan": "the image has no prompt",
    "latin": "has a prompt in latin.txt that cannot be read (UnicodeDecodeError)",
}


def test_invalid_image_is_a_row_with_a_reason(tmp_path):
    write_invalid_images(tmp_path)
    pictures, _ = find_pictures(tmp_path)
    assessor = Redness()
    assessor.columns = ()
    assessor.score = lambda evidence, picture: Redness.score(
        assessor, evidence, type(picture)(picture.path, "", about={"task": "-"})
    )
    assess(pictures, [assessor], tmp_path / "v.parquet", 4)
    rows = {Path(row["image"]).stem: row for row in read_verdicts(tmp_path / "v.parquet")}
    assert len(rows) == 14
    for name, row in rows.items():
        assert (row["verdict"] is None) == (row["evidence"] is None) == (name in REASONS), name
        assert REASONS.get(name, "red is") in row["reason"]
    evidence = {name: json.loads(row["evidence"] or "{}") for name, row in rows.items()}
    assert evidence["moving"]["red"] > 0.9 and evidence["cmyk"]["red"] > 0.9
    assert evidence["deep"]["red"] == 1 and evidence["huge"]["size"] == [4096, 4096]
    assert evidence["long"]["size"] == [4096, 8]
    (tmp_path / "orphan.txt").symlink_to(__file__)
    with pytest.raises(ValueError, match="is outside"):
        find_pictures(tmp_path)
