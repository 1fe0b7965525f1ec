"""Some cases of each fuzzer; `make fuzz` runs more with other seeds."""

import sys

import pytest

for package in ("torch", "transformers", "PIL", "faiss", "sqlalchemy"):
    pytest.importorskip(package, reason=f"some of the folders and commands need {package}")
if sys.platform != "linux":
    pytest.skip("forks, their memory and opened files are Linux's", allow_module_level=True)

from fuzz import fuzz_kills  # noqa: E402
from fuzz.__main__ import find_faults  # noqa: E402

# Commands that do not load torch and are fast.
QUICK_COMMANDS = ("predict", "build", "select")


@pytest.mark.daily
def test_untrusted_checkpoints_give_an_answer_or_one_line():
    assert not find_faults("checkpoints", range(40))


@pytest.mark.daily
def test_killed_commands_leave_the_old_or_the_new_output():
    cases = [case for case in range(200) if fuzz_kills.choose_writer(case) in QUICK_COMMANDS][:25]
    assert not find_faults("kills", cases)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "first", "end"), [("checkpoints", 40, 440), ("kills", 200, 300), ("pairs", 0, 60)]
)
def test_more_cases_of_each_fuzzer(part, first, end):
    assert not find_faults(part, range(first, end))
