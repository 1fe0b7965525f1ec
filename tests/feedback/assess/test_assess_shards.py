"""`AssessmentJob`: the rows of a single run, and invalid prompts as rows."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

Image = pytest.importorskip("PIL.Image", reason="images need pillow")

from support.redness import make_assessors, write_images  # noqa: E402

from pqpp_feedback.assess.gallery import render_gallery  # noqa: E402
from pqpp_feedback.assess.pictures import find_pictures  # noqa: E402
from pqpp_feedback.assess.run import AssessmentJob, assess  # noqa: E402
from pqpp_feedback.assess.verdicts import COLUMNS, read_verdicts  # noqa: E402
from pqpp_files.shards import find_shards, run_shards  # noqa: E402


@pytest.fixture
def prompts(tmp_path):
    rows = write_images(tmp_path / "images", 30)
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "prompts.parquet")
    return tmp_path / "prompts.parquet"


def test_job_yields_the_rows_of_a_single_run(prompts, tmp_path):
    pictures, _ = find_pictures(tmp_path, pq.read_table(prompts).to_pylist())
    assess(pictures, make_assessors(), tmp_path / "v.parquet")
    job = AssessmentJob(make_assessors, str(tmp_path))
    run_shards(job, find_shards(str(prompts), 7), tmp_path / "one", job.settings)
    run_shards(job, find_shards(str(prompts), 7), tmp_path / "two", job.settings, workers=2)
    rows = [row for file in sorted((tmp_path / "one").glob("part*")) for row in read_verdicts(file)]
    expected = list(read_verdicts(tmp_path / "v.parquet"))
    assert sorted(rows, key=lambda row: row["image"]) == expected
    for file in (tmp_path / "one").iterdir():
        assert (tmp_path / "two" / file.name).read_bytes() == file.read_bytes()
    assert pq.read_table(tmp_path / "one").column_names == [*COLUMNS, "error"]


def test_invalid_prompts_and_images_are_rows_with_an_error(prompts, tmp_path):
    ids = ["3", "no-image", "../images", "5", "5", None, "6", "4"]
    texts = ["a red 3", "a", "b", "a red 5", "again", "c", " ", "a red 4"]
    table = pa.table({"prompt_id": ids, "caption": texts, "task": ["-"] * 8})
    (tmp_path / "images/4/glide_0.png").write_text("no image")
    rows = AssessmentJob(make_assessors, str(tmp_path / "images"), "caption")(table).to_pylist()
    images = [row["image"] for row in rows]
    assert images == ["3/glide_0.png", "3/sdxl_0.png", "", "", "5/glide_0.png", "5/sdxl_0.png",
                      "", "", "", "4/glide_0.png", "4/sdxl_0.png"]  # fmt: skip
    assert [row["error"] for row in rows if row["error"]] == [
        "the image is missing: the prompt has no image",
        "the image was not looked for: the prompt_id '../images' cannot be a folder name",
        "the image was not looked for: duplicate prompt_id 5",
        "the image was not looked for: the prompt_id is missing",
        "the image was not looked for: the prompt is blank",
        "cannot read the image (UnidentifiedImageError)",
    ]
    page = render_gallery(rows, tmp_path, tmp_path / "page.html")
    assert page.count("4/sdxl_0.png") and "no-image" not in page
