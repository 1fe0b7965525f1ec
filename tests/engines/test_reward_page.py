"""The training examples of `docs/reward.md`, run with a tiny model."""

import re
from pathlib import Path

import pytest

pytest.importorskip("trl", reason="the trainings need trl")
from support.tiny_chat import save_text_chat

PAGE = (Path(__file__).parents[2] / "docs" / "reward.md").read_text("utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "constructor"),
    [("GRPO", 'GRPOConfig("grpo", '), ("Online DPO", 'OnlineDPOConfig("dpo", ')],
)
def test_training_example_runs(method, constructor, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first, *rest = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    code = first if method == "GRPO" else first.partition("trainer =")[0] + rest[0]
    code = code.replace("Qwen/Qwen3-0.6B", str(save_text_chat(tmp_path / "model")))
    code = code.replace(constructor, f"{constructor}max_steps=2, use_cpu=True, report_to=[], ")
    namespace = {}
    exec(compile(code, "reward.md", "exec"), namespace)
    assert namespace["trainer"].state.global_step == 2
    rewards = [log["reward"] for log in namespace["trainer"].state.log_history if "reward" in log]
    assert method != "GRPO" or all(0 <= one <= 1 for one in rewards)
