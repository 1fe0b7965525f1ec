"""A slice of the fuzzer of calls, and what was found once; `make fuzz` runs many more."""

import numpy as np
import pytest

for needed in ("torch", "transformers", "faiss", "PIL", "pyarrow"):
    pytest.importorskip(needed, reason=f"some of what is called needs {needed}")

from fuzz.__main__ import faults_of  # noqa: E402
from fuzz.calls.doors import doors  # noqa: E402
from fuzz.calls.values import GOOD, needed_files  # noqa: E402
from fuzz.fuzz_calls import fault_of, is_of_metrics  # noqa: E402
from pqpp_files.errors import PqppError  # noqa: E402

PROMPTS, SCORES = GOOD["prompts"]["fit"], GOOD["scores"]
FOUND = {
    "an explanation's seed": ("static.explain", {"prompts": ["a cat"], "seed": -1}, "seed is -1"),
    "a text for a number": (
        "static.explain",
        {"prompts": ["a cat"], "permutations": "5"},
        "`permutations` is '5'; give int",
    ),
    "functions that are a number": (
        "router.route",
        {"prompts": ["a cat"], "functions": np.float16()},
        r"`functions` is np.float16\(0.0\); give Mapping",
    ),
    "an array of no dimension": (
        "static.predict",
        {"rows": ["a cat"], "targets": np.array("mean_hbpp")},
        "`targets` is ndarray; give str",
    ),
    "a switch that is an array": (
        "static.predict_with_uncertainty",
        {"rows": ["a cat"], "progress": np.array([1, 2])},
        "`progress` is ndarray; give bool",
    ),
    "ids of other prompts": (
        "pqpp_models.text.ridge.fitting.fit",
        {"prompts": PROMPTS, "scores": SCORES, "targets": ["mean_hbpp"], "ids": ["a"]},
        "1 ids of 40 prompts; give one each",
    ),
    "rewrites of other prompts": (
        "pqpp_engines.rewrite.study.write_study",
        {
            "folder": "made",
            "prompt_ids": ["1"],
            "originals": ["a"],
            "rewrites": ["b", "c"],
            "model": "x",
        },
        "1 prompt ids, 1 originals and 2 rewrites; give as many of each",
    ),
    "a kind of repository": (
        "pqpp_hub.push.push_files",
        {"files": {}, "repo_id": "a/b", "kind": "x", "is_ours": bool, "message": "x"},
        "'x' is not a kind of repository; choose among model, dataset, space",
    ),
    "a narrow whole number": (
        "pqpp_engines.index.plan.plan_for",
        {"vectors": 10**16, "size": np.int8(3)},
        "10000000000000000 vectors of np.int8.3.* numbers: 1,000,000,000,000,000 at most",
    ),
    "embeddings of unequal lengths": (
        "index.add",
        {"embeddings": [[], [1]], "ids": ["a", "b"]},
        "embeddings of unequal lengths",
    ),
    "an index of unequal lengths": (
        "pqpp_engines.index.build.build_index",
        {"embeddings": [1, [2]], "ids": ["a", "b"], "output": "x"},
        "embeddings of unequal lengths",
    ),
    "a switch of a metric that is an array": (
        "pqpp_metrics.functional.set_recall",
        {"scores": [[1]], "relevance": [[1]], "judged_only": np.array([1, 2])},
        "`judged_only` is .*; it is True or False",
    ),
    "shares that are one number": (
        "pqpp_metrics.functional.routing_gain",
        {"scores": [1, 2], "weak": [0, 1], "strong": [1, 1], "shares": np.inf},
        "`shares`",
    ),
    "files of different columns": (
        "pqpp_datasets.load.load_benchmark",
        {"name": "."},
        "holds files of different columns; name one subset",
    ),
    "a prompt without an id": (
        "pqpp_engines.generate.run.generate",
        {"generator": GOOD["generator"], "prompts": [{}], "output": "made"},
        "a prompt has no `prompt`; give `prompt` and `prompt_id`",
    ),
    "a place that is not there": ("statistics.documents", {"place": -1}, "place -1 of 7 terms"),
    "an encoder that counts": (
        "pqpp_engines.index.labels.preliminary_relevance",
        {"queries": ["a"], "images": ["1"], "captions": ["a"], "embed": len},
        "`embed` gave int64 of shape .* for 1 texts; let it give a vector each",
    ),
    "a device": (
        "FeedbackModel.from_pretrained",
        {"name_or_path": "saved", "device": "gpu"},
        r"`device` is 'gpu' \(.*\); give cpu, cuda or cuda:NUMBER",
    ),
    "a device that is an array": (
        "FeedbackModel.from_pretrained",
        {"name_or_path": "saved", "device": np.array([1, 2])},
        "`device` is ndarray; give str",
    ),
    "a split": (
        "pqpp_datasets.load.load_benchmark",
        {"name": "sample", "split": "./no"},
        r"`split` is './no' \(.*\); name one or several",
    ),
    "half a character in a card": (
        "feedback.save_pretrained",
        {"folder": "made", "card": "\ud800"},
        r"made: '\\ud800' is half a character, which no file holds; take it out of the text",
    ),
    "no prompt": ("static.ignored_of", {"prompt": None}, "`prompt` is None; give str"),
}
"""What was no typed line once: the function, its arguments, and the line now."""


@pytest.mark.parametrize(("name", "given", "line"), FOUND.values(), ids=FOUND)
def test_what_was_found_once_is_a_typed_line(name, given, line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if given.get("name_or_path") == "saved":
        doors()["feedback.save_pretrained"]("saved")
    needed_files(tmp_path)
    if "generator" in given:
        given = given | {"generator": given["generator"]()}
    with pytest.raises(PqppError, match=line) as raised:
        doors()[name](**given)
    assert "\n" not in str(raised.value)


def test_half_a_character_is_predicted_and_stands_in_the_table():
    table = doors()["pqpp_models.predict.predict"](["\ud800 cat"], "mean_hbpp")
    assert table["prompt"].tolist() == ["\ud800 cat"] and table["mean_hbpp"].notna().all()


def test_the_largest_numbers_have_a_mean_error():
    error = doors()["pqpp_metrics.functional.mae_qpp"]([1.0, -np.finfo(float).max], [1.0, 1.0])
    assert error["mae_qpp"] == np.finfo(float).max / 2


def test_shards_may_be_larger_than_any_table():
    table = GOOD["table"]()
    (shard,) = doors()["pqpp_files.shards.cut.hold_shards"](table, 2**70)
    assert shard.rows == len(table)


def test_a_narrow_whole_number_plans_as_the_same_wide_one():
    plan_for = doors()["pqpp_engines.index.plan.plan_for"]
    assert plan_for(1000, np.int8(8)) == plan_for(1000, 8)


def test_no_call_ends_in_anything_but_an_answer_or_one_typed_line():
    cases = [case for case in range(5000) if case < 300 or is_of_metrics(case)]
    assert not {case: fault for case in cases if (fault := fault_of(case))}


@pytest.mark.slow
def test_many_more_calls():
    assert not faults_of("calls", 9000, 20_000)
