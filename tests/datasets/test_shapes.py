"""Layouts of judgments that need an option, which the first error suggests."""

import functools
import json
import re
import shlex

import numpy as np
import pandas as pd
import pytest
from support.votes import build, to_dict, write

from pqpp_cli.main import main
from pqpp_datasets.errors import BenchmarkError

RNG = np.random.default_rng(0)
ROWS = pd.DataFrame(
    [(f"Café {n}", f"{n}.png", "sd", who) for n in range(40) for who in ("ann", "bob", "cy")],
    columns=["prompt", "image", "model", "annotator"],
).assign(quality=RNG.integers(1, 6, 120), fit=RNG.integers(1, 6, 120))


def assert_scores(built, column, expected):
    """Compare a target with a series by prompt."""
    computed = pd.Series(to_dict(built, column)).sort_index()
    pd.testing.assert_series_equal(computed, expected.sort_index(), check_names=False)


TABLE = ROWS.drop(columns="fit").rename(columns={"prompt": "Prompt", "quality": "label"})
LISTS = TABLE.groupby(["Prompt", "image", "model"])["label"].agg(list).reset_index()
LABEL_WORDS = TABLE["label"].map(dict(enumerate(["Bad", "Poor", "Fair", "Good", "Excellent"], 1)))
NUMBERED_WORDS = [f"{n} - {word}" for n, word in zip(TABLE["label"], LABEL_WORDS, strict=True)]
WIDE = LISTS.join(pd.DataFrame(LISTS.pop("label").tolist(), columns=["r1", "r2", "r3"]))
NESTED = LISTS.assign(label=WIDE[["r1", "r2", "r3"]].to_numpy().tolist())


HALVES = TABLE.assign(label=TABLE["label"] / 2)
STARS = TABLE.assign(stars=[f'[{{"rating":{n}}}]' for n in TABLE["label"]], id=0, lead_time=3.5)
STARS = STARS.assign(annotation_id=0)
STARS = STARS[["Prompt", "model", "id", "stars", "annotator", "annotation_id", "lead_time"]]
FRAMES = {
    "capitals.csv": TABLE.rename(columns=str.upper),
    "words.csv": TABLE.assign(label=LABEL_WORDS),
    "numbered.csv --labels": TABLE.assign(label=NUMBERED_WORDS),
    "cells.csv": NESTED,
    "questions.csv --question-columns": ROWS,
    "wide.csv --annotator-columns": WIDE,
    "scale.csv --scale": TABLE.assign(label=TABLE["label"] * 10),
    "maker.csv --model-name": TABLE.rename(columns={"model": "x"}),
    "unnamed.csv --columns": TABLE.rename(columns={"label": "my stars"}),
    "studio.csv --from-format": STARS,
}


def write_qualtrics(path):
    lines = WIDE.assign(ResponseId="R").to_csv(index=False).splitlines(True)
    names = lines[0].strip().split(",")
    import_ids = ",".join(f'"{{""ImportId"":""{name}""}}"' for name in names)
    path.write_text("".join([lines[0], lines[0], import_ids + "\n", *lines[1:]]))


def write_sheets(path):
    with pd.ExcelWriter(path) as book:
        pd.DataFrame({"note": ["read me"]}).to_excel(book, sheet_name="about", index=False)
        TABLE.to_excel(book, sheet_name="votes", index=False, startrow=2)
        book.sheets["votes"]["A1"] = "Votes, May 2024"


LAYOUTS = {  # writer by file name and, if the first build fails, the option that the error suggests
    "semicolon.csv --scale": lambda path: HALVES.to_csv(path, sep=";", decimal=",", index=False),
    "europe.csv --encoding": lambda path: TABLE.to_csv(
        path, sep=";", index=False, encoding="cp1252"
    ),
    "tabs.tsv": lambda path: TABLE.to_csv(path, sep="\t", index=False),
    "tabs.txt": lambda path: TABLE.to_csv(path, sep="\t", index=False),
    "sheet.xlsx": lambda path: TABLE.to_excel(path, index=False),
    "sheets.xlsx": write_sheets,
    "marked.csv": lambda path: path.write_text("sep=;\n" + TABLE.to_csv(sep=";", index=False)),
    "blank.csv": lambda path: path.write_text(TABLE.to_csv(index=False) + ",,,,\n" * 3),
    "utf16.csv": lambda path: TABLE.to_csv(path, index=False, encoding="utf-16"),
    "suffixless": lambda path: TABLE.to_csv(path, index=False),
    "key.json": lambda path: path.write_text(json.dumps({"votes": TABLE.to_dict("records")})),
    "keyed.json": lambda path: TABLE.to_json(path, orient="index"),
    "lines.json": lambda path: TABLE.to_json(path, orient="records", lines=True),
    "columns.json": lambda path: path.write_text(json.dumps(TABLE.to_dict("list"))),
    "pandas.json": lambda path: TABLE.to_json(path),
    "qualtrics.csv --annotator-columns": write_qualtrics,
}
LAYOUTS |= {name: functools.partial(frame.to_csv, index=False) for name, frame in FRAMES.items()}


@pytest.mark.parametrize("name", LAYOUTS)
def test_suggested_option_builds_each_layout(tmp_path, capsys, name):
    file, *option = name.split()
    LAYOUTS[name](tmp_path / file)
    command = ["build", str(tmp_path / file), "--output", str(tmp_path / "mine")]
    if option:
        assert main(command) == 2
        pattern = rf"{option[0]}[ =]('.*?'|(?!ROLE)\S*[^\s,;?])"
        command += shlex.split(re.search(pattern, capsys.readouterr().err)[0])
    assert main(command) == 0
    rows = pd.concat(pd.read_parquet(part) for part in (tmp_path / "mine/data").glob("*.parquet"))
    means = rows.set_index("prompt").filter(regex="^(?!mean).*_rating$").iloc[:, 0].sort_index()
    expected = ROWS.groupby("prompt")["quality"].mean()
    factor = {"semicolon.csv": 0.5, "scale.csv": 10}.get(file, 1)
    pd.testing.assert_series_equal(means, factor * expected.sort_index(), check_names=False)


def test_each_question_becomes_a_target(tmp_path):
    ROWS.to_csv(path := tmp_path / "votes.csv", index=False)
    built = build(path, questions=("quality", "fit"), scale="likert5")
    with pytest.raises(BenchmarkError, match=r"^`questions`: list each column once"):
        build(path, questions=("fit", "fit"), scale="likert5")
    for question in ("quality", "fit"):
        assert_scores(built, f"sd-{question}_rating", ROWS.groupby("prompt")[question].mean())


def test_each_file_is_one_annotator(tmp_path):
    files = []
    for who, rows in ROWS.rename(columns={"quality": "label"}).groupby("annotator"):
        rows.drop(columns=["annotator", "fit"]).to_csv(tmp_path / f"{who}.csv", index=False)
        files.append(tmp_path / f"{who}.csv")
    built = build(files, scale="likert5")
    assert built.generation.table.annotator_names == ["ann", "bob", "cy"]
    assert_scores(built, "sd_rating", ROWS.groupby("prompt")["quality"].mean())
    # Two halves of a study are not two annotators.
    for number, part in enumerate((ROWS[:60], ROWS[60:])):
        part = part.drop_duplicates("prompt").rename(columns={"quality": "label"})
        part.drop(columns="annotator").to_csv(tmp_path / f"{number}.csv", index=False)
    parts = build([tmp_path / "0.csv", tmp_path / "1.csv"], scale="likert5")
    assert not parts.generation.table.has_annotators


def test_prompts_table_may_repeat_rows(tmp_path):
    rows = TABLE.assign(prompt_id=TABLE["Prompt"])
    rows.drop(columns="Prompt").to_csv(path := tmp_path / "votes.csv", index=False)
    texts = rows[["prompt_id", "Prompt"]]
    texts.to_csv(tmp_path / "prompts.csv", index=False)
    built = build(path, prompts=str(tmp_path / "prompts.csv"))
    assert_scores(built, "sd_rating", ROWS.groupby("prompt")["quality"].mean())
    pd.concat([texts, texts[:1].assign(Prompt="x")]).to_csv(tmp_path / "prompts.csv", index=False)
    with pytest.raises(BenchmarkError, match=r"row 122: .* the same as in row 2"):
        build(path, prompts=str(tmp_path / "prompts.csv"))


def test_error_suggests_values_of_unknown_choices(tmp_path, capsys):
    rows = [(f"P{n}", "x", "y", RNG.choice(4)) for n in range(100)]
    choices = ["A is better", "B is better", "same", "Both are bad, it's a tie"]
    table = pd.DataFrame(rows, columns=["prompt", "model_a", "model_b", "choice"])
    table["choice"] = [choices[n] for n in table["choice"]]
    table.to_csv(path := tmp_path / "pairs.csv", index=False)
    command = ["build", "--preferences", str(path), "--output", str(tmp_path / "mine")]
    assert main(command) == 2
    suggestion = re.search(r"--labels .*\}'", capsys.readouterr().err)[0]
    assert main([*command, *shlex.split(suggestion)]) == 0
    share = table["choice"].map(dict(zip(choices, (1, 0, 0.5, 0.5), strict=True))).mean()
    assert f"{share:.1%} won" in capsys.readouterr().out


def test_pairs_without_prompt_count_for_strengths_only(tmp_path):
    rows = pd.DataFrame({"prompt_id": RNG.permutation(100), "model_a": "x", "model_b": "y"})
    rows["choice"] = RNG.choice(["a", "b"], 100)
    rows.to_csv(path := tmp_path / "pairs.csv", index=False)
    texts = pd.DataFrame({"prompt_id": range(60), "prompt": [f"Prompt {n}" for n in range(60)]})
    texts.to_csv(tmp_path / "prompts.csv", index=False)
    built = build(preferences=path, prompts=str(tmp_path / "prompts.csv"))
    assert built.preferences.win_share[0] == pytest.approx((rows["choice"] == "a").mean())
    wins = rows[rows["prompt_id"] < 60].set_index("prompt_id")["choice"].eq("a").astype(float)
    assert_scores(built, "x_rate", wins.rename(lambda n: f"Prompt {n}"))
    assert sum("40 of 100 rows have a prompt_id" in note for note in built.notes) == 1
    texts[:0].assign(prompt_id=["x"], prompt="x").to_csv(tmp_path / "prompts.csv", index=False)
    with pytest.raises(BenchmarkError, match=r"'[0-9]+', not found in "):
        build(preferences=path, prompts=str(tmp_path / "prompts.csv"))


def test_reports_all_invalid_cells_together(tmp_path, capsys):
    votes = ROWS.rename(columns={"quality": "label", "prompt": "caption", "model": "system"})
    votes.loc[7, ["label", "annotator"]] = 9, ""
    votes.to_csv(path := tmp_path / "votes.csv", index=False)
    command = ["build", str(path), "--scale", "likert5", "--output", str(tmp_path / "mine")]
    assert main(command) == 2
    assert "missing column 'model' (columns" in capsys.readouterr().err
    assert main([*command, "--columns", "model=system"]) == 2
    errors = capsys.readouterr().err
    assert errors.count("row 9: '") == 2 and "row 9: 'annotator' is empty" in errors
    option = re.search(r"--missing-labels=\S+", errors)[0]
    votes = votes.assign(annotator=ROWS["annotator"]).rename(columns={"label": "score"})
    votes.replace({"score": {9: 5}}).drop(columns="fit").to_csv(path, index=False)
    assert main([*command, option]) == 2
    remedy = re.search(r"--columns \S+=score\S*(?=\?)", capsys.readouterr().err)[0]
    assert main([*command, option, *remedy.split()]) == 0


def test_notes_merged_spellings_of_retrieval_prompts(tmp_path):
    header = "prompt,model,image,score"
    runs = write(tmp_path / "run.csv", "a cat,m,1,2", "A cat,m,2,1", header=header)
    votes = write(tmp_path / "qrels.csv", "a cat,1,1", header="prompt,image,label")
    assert any("in several spellings" in note for note in build(None, runs, votes).notes)


def test_rejects_rankings_of_one_model(tmp_path):
    path = tmp_path / "ranked.json"
    record = {"prompt": "a cat", "generations": ["1.png", "2.png"], "ranking": [1, 2]}
    path.write_text(json.dumps([record]))
    with pytest.raises(BenchmarkError, match="two or more models, got only 'sd"):
        build(path, from_format="imagereward", model="sd")
