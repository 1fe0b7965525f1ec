"""`pqpp assess agree`: agreement compared with scipy and formulas, and invalid verdicts."""

import numpy as np
import pytest
from scipy import stats

from pqpp_cli.main import main
from pqpp_feedback.assess.agreement import compare_with_people, read_human_answers
from pqpp_feedback.assess.verdicts import COLUMNS, write_verdicts


@pytest.fixture
def study(tmp_path):
    """600 rows with scores, and a folder with people's answers on 150 of them."""
    random, rows, votes = np.random.default_rng(0), [], ["image,matched"]
    for number in range(600):
        quality = random.random()
        answer = random.random() < quality**2  # so that scores are not calibrated
        verdict = quality > 0.5 if number % 7 else None
        row = dict.fromkeys(COLUMNS) | {"image": f"{number}.png", "prompt_id": str(number // 4)}
        row |= {"task": ("count", "colour")[number % 2], "generator": "ab"[number // 2 % 2]}
        row |= {"routine": "mine", "assessor": "mine", "score": quality, "verdict": verdict}
        rows.append(row)
        if number < 150:
            votes.append(f"{number}.png,{'yes' if answer else 'no'}")
    (tmp_path / "votes.csv").write_text("\n".join(votes) + "\n")
    write_verdicts(tmp_path / "v.parquet", rows)
    return rows, tmp_path


def test_agreement_agrees_with_scipy_and_formulas(study):
    rows, folder = study
    people = read_human_answers(folder / "votes.csv")
    (by_task, by_model, saved), notes = compare_with_people(rows, people)
    answers = np.array([people.find(row) for row in rows[:150]])
    scores = np.array([row["score"] for row in rows])
    overall = by_task.rows[0]
    assert overall["rank"] == pytest.approx(stats.kendalltau(scores[:150], answers).statistic)
    verdicts = [(row["verdict"], answer) for row, answer in zip(rows, answers, strict=False)]
    matches = [verdict == answer for verdict, answer in verdicts if verdict is not None]
    assert overall["accuracy"] == pytest.approx(np.mean(matches)) and overall["n"] == len(matches)
    assert [row["task"] for row in by_task.rows] == ["all", "colour", "count"]
    assert [row["generator"] for row in by_model.rows] == ["all", "a", "b"]
    (row,) = saved.rows
    weight = np.cov(answers, scores[:150], ddof=0)[0, 1] / ((1 + 150 / 450) * scores.var(ddof=1))
    mean = weight * scores[150:].mean() + (answers - weight * scores[:150]).mean()
    assert row["powered"][0] == pytest.approx(mean) and row["judged"] == 150
    widths = [row[name][2] - row[name][1] for name in ("powered", "people")]
    assert widths[0] < widths[1] and row["worth"] > 150 and row["needed"] < row["without"]
    assert len(notes) == 2
    rows_without_answers = [*rows[:1], {**rows[-1], "routine": "of no image that people judged"}]
    assert compare_with_people(rows_without_answers, people)[0][0].rows[-1]["n"] == 0


@pytest.mark.parametrize(
    ("cells", "status", "message"),
    [
        ("yes\nb,no", 0, "1.000"),
        ("maybe\nb,no", 2, "line 2: expected a verdict"),
        ("\nb,", 2, "no image with a score or verdict"),
    ],
)
def test_agree_command_reads_image_and_verdict(cells, status, message, tmp_path, capsys):
    people, verdicts_path = tmp_path / "people.csv", tmp_path / "own.csv"
    people.write_text("image,matched\na,1\nb,0\n")
    verdicts_path.write_text(f"image,verdict\na,{cells}\n")
    assert main(["assess", "agree", str(verdicts_path), "--people", str(people)]) == status
    assert message in "".join(capsys.readouterr())
