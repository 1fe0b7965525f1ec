"""The two trainings of the page on rewards, on a tiny model in place of the one that is named."""

import re
from pathlib import Path

import pytest

pytest.importorskip("trl", reason="the trainings need trl")
from support.tiny_chat import save_text_chat

PAGE = (Path(__file__).parents[2] / "docs" / "reward.md").read_text("utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("trained", "configured"),
    [("GRPO", 'GRPOConfig("grpo", '), ("Online DPO", 'OnlineDPOConfig("dpo", ')],
)
def test_a_training_of_the_page_runs(trained, configured, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first, *rest = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    code = first if trained == "GRPO" else first.partition("trainer =")[0] + rest[0]
    code = code.replace("Qwen/Qwen3-0.6B", str(save_text_chat(tmp_path / "model")))
    code = code.replace(configured, f"{configured}max_steps=2, use_cpu=True, report_to=[], ")
    found = {}
    exec(compile(code, "reward.md", "exec"), found)
    assert found["trainer"].state.global_step == 2
    rewards = [log["reward"] for log in found["trainer"].state.log_history if "reward" in log]
    assert trained != "GRPO" or all(0 <= one <= 1 for one in rewards)
