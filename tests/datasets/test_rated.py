"""AGIQA-3K, TIA2, GenAI-Bench and T2V: rows and damaged files."""

import csv
import math

import pytest
from datasets import load_dataset
from support.benchmark_folders import write_gimbrr
from support.rated_folders import WRITERS

from pqpp_datasets.errors import BenchmarkError
from pqpp_datasets.rated import GENAI_MODELS
from pqpp_datasets.sources import get_release
from pqpp_files.hashes import hash_file

pytestmark = pytest.mark.usefixtures("cache")


def load(folder, name, **options):
    return load_dataset("pqpp", name, data_dir=str(folder), **options)


def test_rate_ignores_missing_answers(tmp_path):
    splits = load(WRITERS["tia2"](tmp_path), "tia2")
    assert list(splits) == ["composition", "counting"]
    assert splits["composition"][0] == {
        "prompt": "a bed and a cup",
        "file_name": "image_0_0_0.jpg",
        "labels": [0, -1, 1],
        "mean_rate": 0.5,
    }
    assert splits["counting"]["mean_rate"][:] == [pytest.approx(2 / 3), None]


def test_means_ignore_ratings_outside_the_scale(tmp_path):
    first, second = load(WRITERS["genai"](tmp_path), "genai", split="train")
    assert first["ratings"]["midjourney_6"] == [4, 4, 5]
    assert first["midjourney_6_rating"] == pytest.approx(13 / 3)
    assert (
        first["chinese_prompt"] == "\u4e00\u8f86\u7ea2\u8f66" and second["chinese_prompt"] is None
    )
    assert (second["prompt_id"], second["ratings"]["sdxl_base"]) == ("00002", [41, 3, 4])
    assert (second["sdxl_base_rating"], second["dalle_3_rating"]) == (3.5, 2.0)
    # All models have the same weight in the mean, whatever the number of their ratings.
    assert second["mean_rating"] == pytest.approx((5 * 2 + 3.5) / 6)


DAMAGED_FILES = {
    "score above 5": ("agiqa", "1.25", "12.5", r"data\.csv, line 2: .*'mos_quality' is '12.5'"),
    "two answers": ("tia2", "[0, -1, 1]", "[0, 1]", "composition.json, image_0_0_0.jpg"),
    "two ratings": ("genai", "[2, 4, 5]", "[4, 5]", r"00001, models, \w+"),
    "above 64 bits": ("genai", "[2, 4, 5]", f"[{2**63}, 4, 5]", r"train is damaged \(.* too large"),
    "rating above 5": ("t2v", "[4.5]", "[45]", r"1, models, \w+, 0: .* got 45"),
    "unknown model": ("gimbrr-annotations", "MJ,1", "XX,1", r"line 6: column 'Algorithm' is 'XX'"),
    "unknown prompt": ("gimbrr-annotations", "MJ,1", "MJ,77", r"\.csv: prompt 77 not found in"),
    "invalid link": ("gimbrr", '"3,4"', '"3,9"', "prompt 2 links to 9, which"),
}


@pytest.mark.parametrize("name", DAMAGED_FILES)
def test_error_names_file_and_place(tmp_path, name):
    config, old, new, expected = DAMAGED_FILES[name]
    changes = 0
    for path in WRITERS.get(config, write_gimbrr)(tmp_path).rglob("*.*"):
        text = path.read_text()
        changes += old in text
        path.write_text(text.replace(old, new, 1))
    assert changes
    with pytest.raises(BenchmarkError, match=expected) as excinfo:
        load(tmp_path, config)
    assert "\n" not in str(excinfo.value)


@pytest.mark.realdata
@pytest.mark.parametrize("config", WRITERS)
def test_published_files_match_pinned_hashes(real_data, config):
    for source in get_release(config).files:
        path = real_data / config / source.path
        assert (path.stat().st_size, hash_file(path)) == (source.bytes, source.sha256)


def read_ratings(real_data, name):
    with (real_data / "ratings" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.daily
@pytest.mark.realdata
def test_values_match_independently_built_tables(real_data):
    images = load(real_data / "agiqa", "agiqa", split="train")
    for loaded, row in zip(images, read_ratings(real_data, "agiqa3k"), strict=True):
        texts = [loaded[name] or "" for name in ("file_name", "model", "prompt", "adj1", "style")]
        assert texts == [row[name] for name in ("name", "model", "prompt", "adj1", "style")]
        for name in ("mos_align", "std_align", "mos_quality", "std_quality"):
            assert loaded[name] == float(row[name])
    for split, images in load(real_data / "tia2", "tia2").items():
        for loaded, row in zip(images, read_ratings(real_data, f"tia2_{split}"), strict=True):
            assert (loaded["file_name"], loaded["prompt"]) == (row["image"], row["caption"])
            assert loaded["labels"] == [int(row[f"label_{rater}"]) for rater in (1, 2, 3)]
    rows_by_id = {row["prompt_id"]: row for row in load(real_data / "genai", "genai")["train"]}
    model_names = {published: name for name, published in GENAI_MODELS.items()}
    for row in read_ratings(real_data, "genai_bench_527"):
        ratings = [int(row[f"rating_{rater}"]) for rater in (1, 2, 3)]
        loaded = rows_by_id[row["prompt_id"]]
        assert loaded["prompt"] == row["prompt"]
        assert loaded["ratings"][model_names[row["model"]]] == ratings
    rows_by_id = {row["prompt_id"]: row for row in load(real_data / "t2v", "t2v")["train"]}
    rows = read_ratings(real_data, "t2v_alignment")
    for row in rows:
        loaded = rows_by_id[row["prompt_id"]]
        assert loaded["prompt"] == row["prompt"]
        assert loaded[f"{row['model']}_rating"] == float(row["alignment"])
    assert set(rows_by_id) - {row["prompt_id"] for row in rows} == {"47", "195", "197", "225"}


@pytest.mark.realdata
def test_real_agiqa(real_data):
    rows = load(real_data / "agiqa", "agiqa", split="train")
    assert len(rows) == 2982 and len(set(rows["prompt"])) == len(set(rows["prompt_id"])) == 300
    first, tenth, last = rows[0], rows[9], rows[-1]
    assert (first["prompt"], first["model"], first["style"]) == ("statue of a man", "AttnGAN", None)
    assert (first["mos_align"], first["mos_quality"]) == (0.40889324, 0.965602553)
    assert (tenth["prompt"], tenth["mos_align"]) == ("girl from fight club", 0.420831212)
    assert (last["file_name"], last["style"]) == ("xl2.2_normal_299.jpg", "baroque style")
    assert (last["adj1"], last["adj2"]) == ("hyper detail", "HDR lighting")
    assert (last["mos_align"], last["std_quality"]) == (3.467108847, 0.486499893)
    counts = {name: rows["model"][:].count(name) for name in set(rows["model"])}
    others = {"midjourney": 592, "DALLE2": 290, "sd1.5": 1200}
    assert counts == {"AttnGAN": 300, "glide": 300, "xl2.2": 300, **others}


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("split", "prompts", "tenth", "last", "unanswered"),
    [
        pytest.param(
            "composition",
            300,
            ("a realistic photo of an airplane and an apple", [-1, 0, 0]),
            ("a realistic photo of an umbrella and a vase", "image_299_4_9.jpg", 1.0),
            1917,
            marks=pytest.mark.daily,
        ),
        (
            "counting",
            150,
            ("a realistic photo of an airplane", [1, 1, 1]),
            ("a realistic photo of six vases", "image_149_4_9.jpg", 0.0),
            0,
        ),
    ],
)
def test_real_tia2(real_data, split, prompts, tenth, last, unanswered):
    rows = load(real_data / "tia2", "tia2", split=split)
    assert len(rows) == 50 * prompts and len(set(rows["prompt"])) == prompts
    assert rows[0]["file_name"] == "image_0_0_0.jpg"
    assert rows[0]["mean_rate"] == pytest.approx({"composition": 0, "counting": 2 / 3}[split])
    assert (rows[9]["prompt"], rows[9]["labels"]) == tenth
    assert (rows[-1]["prompt"], rows[-1]["file_name"], rows[-1]["mean_rate"]) == last
    assert sum(labels.count(-1) for labels in rows["labels"]) == unanswered
    assert None not in rows["mean_rate"][:]


@pytest.mark.realdata
def test_real_genai(real_data):
    rows = load(real_data / "genai", "genai", split="train")
    assert len(rows) == len(set(rows["prompt"])) == 527
    first, tenth, last = rows[0], rows[9], rows[-1]
    assert first["prompt"] == "A baker pulling freshly baked bread out of an oven in a bakery."
    assert (first["ratings"]["sdxl_turbo"], first["sdxl_turbo_rating"]) == ([2, 4, 3], 3.0)
    assert first["mean_rating"] == pytest.approx(58 / 18)
    row = rows[231]  # with a typing error
    assert (row["prompt_id"], round(row["mean_rating"], 3)) == ("00232", 1.639)
    assert tenth["prompt"].startswith("A sorcerer's hat casting shadows over a cluttered")
    assert (tenth["prompt_id"], tenth["ratings"]["deepfloyd"]) == ("00010", [1, 2, 1])
    assert (last["prompt_id"], last["prompt"]) == ("00527", "Five stones by the river.")
    assert all(last[f"{name}_rating"] == pytest.approx(8 / 3) for name in GENAI_MODELS)
    assert sum(text is None for text in rows["chinese_prompt"]) == 258
    maxima = [(row["prompt_id"], max(map(max, row["ratings"].values()))) for row in rows]
    assert [pair for pair in maxima if pair[1] > 5] == [("00232", 41), ("00253", 33)]
    assert max(rows["mean_rating"]) <= 5


@pytest.mark.realdata
def test_real_t2v(real_data):
    rows = load(real_data / "t2v", "t2v", split="train")
    assert len(rows) == 512 and len(set(rows["prompt"])) == 508
    first, tenth, last = rows[0], rows[9], rows[-1]
    assert (first["prompt"], first["gen2_rating"]) == ("2 Dog and a whale, ocean adventure", 2.2)
    assert tenth["prompt"] == "A curious cat peers from the window, watching the world outside."
    assert (tenth["floor33_rating"], tenth["mean_rating"]) == (4.5, 3.22)
    assert last["prompt"] == "camera rotate clockwise, several lily pads without frogs"
    assert (last["prompt_id"], last["zeroscope_rating"]) == ("511", 2.3)
    assert sum(rating is None for rating in rows["gen2_rating"]) == 17
    assert math.isclose(sum(rows["mean_rating"]) / 512, 2.59298828125, rel_tol=1e-9)
