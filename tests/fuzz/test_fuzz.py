"""A slice of each fuzzer; `make fuzz` runs more of other seeds."""

import sys

import pytest

for needed in ("torch", "transformers", "PIL", "faiss", "sqlalchemy"):
    pytest.importorskip(needed, reason=f"some of the folders and commands need {needed}")
if sys.platform != "linux":
    pytest.skip("forks, their memory and opened files are Linux's", allow_module_level=True)

from fuzz import fuzz_kills  # noqa: E402
from fuzz.__main__ import find_faults  # noqa: E402

# Those that neither load torch nor take long.
QUICK = ("predict", "build", "select")


@pytest.mark.daily
def test_a_foreign_checkpoint_gives_an_answer_or_one_typed_line():
    assert not find_faults("checkpoints", range(40))


@pytest.mark.daily
def test_a_killed_command_leaves_the_old_or_the_new():
    cases = [case for case in range(200) if fuzz_kills.writer_of(case) in QUICK][:25]
    assert not find_faults("kills", cases)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "first", "end"), [("checkpoints", 40, 440), ("kills", 200, 300), ("pairs", 0, 60)]
)
def test_many_more(part, first, end):
    assert not find_faults(part, range(first, end))
