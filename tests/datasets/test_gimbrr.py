"""GIMBRR: prompts, annotations and automated verdicts."""

import pytest
from datasets import load_dataset
from support.benchmark_folders import write_gimbrr

pytestmark = pytest.mark.usefixtures("cache")


def load(folder, name="gimbrr", **options):
    return load_dataset("pqpp", name, data_dir=str(folder), **options)


def test_reads_prompts(tmp_path):
    rows = load(write_gimbrr(tmp_path), split="test")
    assert rows[0] == {
        "prompt_id": 1,
        "prompt": "5 apples",
        "task": "Counting",
        "representations": ["apple"],
        "task_specific_label": "5",
        "auto_assessment": True,
        "linked_prompts": [3],
        "img2img_instructions": None,
        "object_num": 2,
        "extra_characteristic": False,
        "num_features": None,
        "common": None,
        "num_objects": None,
    }
    assert rows[1]["prompt"] == "Cow, unicycle "  # as published
    assert rows[1]["representations"] == ["cow", "unicycle"]
    assert rows["linked_prompts"][:] == [[3], [3, 4], [], []]
    assert rows["img2img_instructions"][3] == "a.jpeg on b.jpeg" and rows["common"][1] is True


def test_joins_annotations_with_prompts(tmp_path):
    rows = load(write_gimbrr(tmp_path, subfolder="annotations"), "gimbrr-annotations")
    assert rows.num_rows == {"dalle2": 2, "midjourney": 1, "sd2.1": 1, "sd1.5": 2}
    assert rows["sd1.5"]["matched"][:] == [True, False]
    assert rows["sd1.5"]["duplicated"][:] == [True, True]
    second = rows["dalle2"][1]
    assert (second["prompt"], second["annotated_prompt"]) == ("Cow, unicycle ", "Pig, unicycle")
    assert (second["task"], second["linked_prompts"]) == ("Multiple objects", [3, 4])
    assert not second["duplicated"]
    assert (second["prompt_no"], second["task_backup"]) == (2, "Multiple objects (old)")


RECORDS = {
    "dalle2": [(1701, True, "a book"), (1707, True, "a remote"), (1443, False, None)],
    "midjourney": [
        (1813, True, "toothbrush"),
        (1714, False, "a toothbrush"),
        (391, False, "Beaver kicking a doll"),
    ],
    "sd2.1": [(1710, True, "a surfboard"), (1707, True, "a remote"), (1500, False, None)],
    "sd1.5": [(1811, True, "lamp"), (1758, True, "an umbrella"), (1498, False, None)],
}
# Overall rates without the `Controlled` tasks, from the authors' repository.
RATES = {"dalle2": 0.5474, "midjourney": 0.4644, "sd2.1": 0.3433, "sd1.5": 0.3508}
# The last annotated text of a model, if the directory has another text for it now.
CHANGED_TEXTS = {
    "dalle2": ("three hats and six shoes", "two hats and eight shoes"),
    "sd2.1": ("three surfboards and six cows", "eight surfboards and two cows"),
    "sd1.5": ("three birds and six umbrellas", "eight birds and two umbrellas"),
}


@pytest.mark.realdata
def test_real_annotations(real_data):
    splits = load(real_data / "gimbrr", "gimbrr-annotations")
    assert list(splits) == list(RECORDS)
    for name, rows in splits.items():
        assert len(rows) == 2102
        for index, (prompt_id, matched, prompt) in zip((0, 9, -1), RECORDS[name], strict=True):
            row = rows[index]
            assert (row["prompt_id"], row["matched"]) == (prompt_id, matched)
            texts = (row["annotated_prompt"], row["prompt"])
            assert texts == ((prompt, prompt) if prompt else CHANGED_TEXTS[name])
        matches = [r["matched"] for r in rows if not r["task"].startswith("Controlled")]
        assert sum(matches) / len(matches) == pytest.approx(RATES[name], abs=5e-5)
        assert rows["prompt_no"][:] == rows["prompt_id"][:]
        assert sum(task == "Single object" for task in rows["task_backup"]) == 502
        assert sum(rows["duplicated"]) == (32 if name == "sd1.5" else 0)
    differ = [r["prompt"] != r["annotated_prompt"] for rows in splits.values() for r in rows]
    assert sum(differ) == 392


VERDICTS = {
    "dalle2": [(2047, True), (107, False), (1300, True)],
    "midjourney": [(2047, True), (1814, True), (1300, False)],
    "sd2.1": [(2047, False), (1814, True), (1300, False)],
    "sd1.5": [(2047, False), (169, False), (1300, False)],
}


@pytest.mark.realdata
def test_real_verdicts(real_data):
    splits = load(real_data / "gimbrr", "gimbrr-automated")
    for name, rows in splits.items():
        assert len(rows) == len(set(rows["prompt_id"])) == 965
        verdicts = [(rows[index]["prompt_id"], rows[index]["verdict"]) for index in (0, 9, -1)]
        assert verdicts == VERDICTS[name]
        assert rows["file_name"][0] == "p2047_1_v0.0.5_pd230208.png"
        assert len(set(rows["task"])) == 6


@pytest.mark.realdata
def test_real_prompts(real_data):
    rows = load(real_data / "gimbrr", split="test")
    assert len(rows) == 2302 and sum(task.startswith("img2img") for task in rows["task"]) == 200
    assert len(set(rows["task"])) == 19
    assert sum(map(len, rows["linked_prompts"])) == 2551
    first, tenth, last = rows[0], rows[9], rows[-1]
    assert first["prompt"] == "A sweet strawberry or a sour lemon- only render sweet things"
    assert (first["task_specific_label"], first["linked_prompts"]) == ("lemon", [1801])
    assert (tenth["prompt_id"], tenth["prompt"]) == (
        10,
        "A jar or a squirrel- only render containers",
    )
    assert (last["prompt_id"], last["prompt"], last["task"]) == (
        2302,
        "paper clip",
        "Single object",
    )
