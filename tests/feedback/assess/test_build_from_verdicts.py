"""Verdicts as votes of `pqpp build`, and the code in docs/contributing/gimbrr.md."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("PIL.Image", reason="images need pillow")

from support.redness import Redness, write_images

from pqpp_cli.main import main
from pqpp_feedback.assess.pictures import find_pictures
from pqpp_feedback.assess.run import assess

ROOT = Path(__file__).resolve().parents[3]


def test_build_from_verdicts_names_the_routine_as_annotator(tmp_path, cache):
    from datasets import load_dataset

    prompts = write_images(tmp_path / "images", 40)
    pictures, _ = find_pictures(tmp_path, prompts)
    (tmp_path / "images" / "3" / "sdxl_0.png").write_text("no image")  # gets no verdict
    assess(pictures, [Redness()], tmp_path / "v.parquet")
    words = ["build", str(tmp_path / "v.parquet"), "--output", str(tmp_path / "b")]
    words += ["--columns", "label=verdict", "--columns", "annotator=routine", "--columns"]
    words += ["model=generator", "--scale", "yes-no", "--blank", "drop", "--keep-annotators"]
    assert main([*words, "--annotations-creators", "machine-generated"]) == 0
    rows = load_dataset(str(tmp_path / "b"))
    rows_by_prompt = {row["prompt"]: row for split in rows.values() for row in split}
    assert len(rows_by_prompt) == 40
    row = rows_by_prompt["a red 7"]  # red is 3 of 255 by sdxl, 94 by glide
    rates = {name: value for name, value in row.items() if name.endswith("_rate")}
    assert rates == {"glide_rate": 0.0, "sdxl_rate": 0.0, "mean_rate": 0.0}, row
    votes = [path for path in (tmp_path / "b").rglob("*.parquet") if "vote" in str(path)]
    import pyarrow.parquet

    names = {n for p in votes for n in pyarrow.parquet.read_table(p)["annotator"].to_pylist()}
    assert names == {"redness-mean"}


def test_documented_task_and_routine_run(tmp_path):
    text = (ROOT / "docs" / "contributing" / "gimbrr.md").read_text("utf-8")
    task, routine, use = re.findall(r"```python\n(.*?)```", text, re.DOTALL)[:3]
    (tmp_path / "directed_actions.py").write_text(task)
    (tmp_path / "at_least.py").write_text(routine)
    parsed = "parse_task({'task': 'Directed actions', 'representations': 'pig, guitar'})"
    use += "from pqpp_feedback.gimbrr.conditions import parse_task\n"
    use += f"print(make_conditions({parsed})[1])\n"
    (tmp_path / "use.py").write_text(use)
    words, env = [sys.executable, tmp_path / "use.py"], {**os.environ}
    env["PYTHONPATH"] = f"{tmp_path}:{ROOT}"
    output = subprocess.check_output(words, text=True, env=env)
    assert output.splitlines() == [
        "gimbrr-published False",
        "gimbrr-at-least True",
        "Condition(kind='shows', name='guitar', others=('pig',), count=0)",
    ]
