"""A slice of the fuzzer of foreign folders; `make fuzz` runs more of other seeds."""

import sys

import pytest

for needed in ("torch", "transformers", "onnx", "onnxruntime", "PIL"):
    pytest.importorskip(needed, reason=f"some of the folders need {needed}")
if sys.platform != "linux":
    pytest.skip("memory and opened files are asked of Linux", allow_module_level=True)

from fuzz.__main__ import faults_of  # noqa: E402

CASES = 40


@pytest.mark.daily
def test_a_foreign_folder_gives_an_answer_or_one_typed_line():
    assert not faults_of("checkpoints", 0, CASES)


@pytest.mark.slow
def test_many_more_folders():
    assert not faults_of("checkpoints", CASES, 400)
