"""Answers of the demo page, compared with `pqpp predict` and hand-computed cases."""

import base64
import csv
import io
import re
from html import escape

import pytest
from support.processes import run_pqpp

from pqpp_files.errors import FileError
from pqpp_models import Predictor, PredictorError
from pqpp_models.demo import answer
from pqpp_models.demo.answer import AnswerRenderer, Bar, read_pasted_text
from pqpp_models.verdict.verdict import verdict

PROMPTS = ("a man riding a wave on a surfboard", "seven <b>oranges</b> & a cat", "qwx zzyv 77")


@pytest.fixture(scope="module")
def static():
    return AnswerRenderer(Predictor.from_pretrained("static"))


def read_csv(html):
    """Return the CSV file that the page contains as a data URL."""
    (code,) = re.findall(r'href="data:text/csv;charset=utf-8;base64,([^"]*)"', html)
    return base64.b64decode(code).decode("utf-8")


def test_csv_matches_predict(static, tmp_path):
    html = static.render("\n".join(PROMPTS))
    process = run_pqpp(
        "predict", *PROMPTS, "--uncertainty", "--verdict", "--output", "p.csv", cwd=tmp_path
    )
    assert process.returncode == 0, process.stderr
    assert read_csv(html) == (tmp_path / "p.csv").read_bytes().decode("utf-8")


def test_list_is_sortable_table_of_verdicts(static):
    prompts = [f"{number} dogs on a beach" for number in range(1, 131)]
    html = static.render("\n".join(prompts))
    rows = re.findall(r"<tr><th scope=\"row\"[^>]*>(.*?)</th><td[^>]*>(.*?)</td>", html)
    expected = verdict(prompts)[:100]
    assert rows == [(one.prompt, escape(one.sentence)) for one in expected]
    values = re.findall(r'<td data-value="([-.\d]+)"', html)
    assert [float(value) for value in values[::2]] == [one.easier_than_people for one in expected]
    assert len(read_csv(html).splitlines()) == 131
    assert "130 prompts, the first 100 as a table" in html
    assert html.count('<button type="button">') == 4


def test_pasted_table_keeps_its_columns(static, caplog):
    html = static.render('id;prompt;score\n007;"a cat; asleep";.5\n008;"two\ndogs";.4\n009; ;1\n')
    rows = list(csv.DictReader(io.StringIO(read_csv(html))))
    assert [(row["id"], row["prompt"], row["score"]) for row in rows] == [
        ("007", "a cat; asleep", "0.5"),
        ("008", "two\ndogs", "0.4"),
    ]
    assert float(rows[0]["alignment"]) == pytest.approx(
        static.predictor.predict(["a cat; asleep"], "alignment")[0, 0], abs=1e-6
    )
    header = read_csv(static.render("prompt,alignment\na cat,3\n")).splitlines()[0].split(",")
    assert header[:3] == ["prompt", "alignment", "alignment_predicted"]
    assert read_pasted_text("a cat, quickly\nprompt") == {"prompt": ["a cat, quickly", "prompt"]}
    assert read_pasted_text("Prompt\u202e,id\na cat,1")["prompt"] == ["a cat"]
    assert "Prompt" not in caplog.text
    with pytest.raises(FileError, match="the table, line 3: expected 2 cells, got 1"):
        read_pasted_text("prompt,id\na cat,1\na dog")


def test_bar_is_90_percent_interval_within_range():
    columns = {
        "prompt": ["a", "b", ""],
        "mean_hbpp": [0.5, 1.9, None],
        "mean_hbpp_deviation": [0.2, 0.5, None],
    }
    inside, cut, blank = (answer._make_bar(columns, "mean_hbpp", row) for row in range(3))
    # 1.6449 standard deviations to each side; the maximum of HBPP is 2.
    assert (inside.low, inside.high) == pytest.approx((0.17102, 0.82898))
    assert (cut.low, cut.high) == pytest.approx((1.07755, 2.0))
    assert blank == Bar("mean_hbpp", inside.words, None, None, None, (-1.0, 2.0))
    # (0.17102 + 1) / 3 and (0.82898 + 1) / 3 of the width
    assert inside.to_percent(inside.low) == 39.03 and inside.to_percent(inside.high) == 60.97


def test_escapes_prompts(static):
    html = static.render('<img src=x onerror="f()"> a cat\n{{ 1 }} ${1} \u202e dog')
    assert "<img" not in html and "&lt;img" in html and "\u202e" not in html


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a cat\n" + "x" * 1001, "prompt 2 has 1,001 characters"),
        ("a cat \ud800", "incomplete character"),
    ],
)
def test_rejects_invalid_text(text, message):
    with pytest.raises(PredictorError, match=message):
        read_pasted_text(text)
