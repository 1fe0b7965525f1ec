"""`pqpp predict`: inputs, output formats, escaping and refused options."""

import csv
import io
import json
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.processes import run_pqpp

from pqpp_cli.main import main
from pqpp_files.write_table import encode_table
from pqpp_models import DEFAULT_PREDICTOR, Predictor
from pqpp_models import TARGETS as NINE

PROMPTS = ["a man riding a wave on a surfboard", 'ein "Käfer",\nrot', "🦓 three zebras"]


TARGETS = ("alignment", *NINE)
"""The targets of the default predictor, in the order of files."""
OUT_OF_DOMAIN = "qwx zzyv 77"
EXTRA_COLUMNS = ["distance", "out_of_domain", "ignored"]
"""The columns after the targets, for predictors with distances, such as the default."""


def test_standard_input_and_dash(tmp_path):
    text = "a cat\n\na dog\n"
    piped = run_pqpp("predict", "--format", "csv", cwd=tmp_path, stdin=text).stdout
    named = run_pqpp("predict", "--file", "-", "--format", "csv", cwd=tmp_path, stdin=text).stdout
    rows = list(csv.reader(io.StringIO(piped)))
    assert rows[0] == ["prompt", *TARGETS, *EXTRA_COLUMNS]
    assert [row[0] for row in rows[1:]] == ["a cat", "", "a dog"]
    assert [bool(row[1]) for row in rows[1:]] == [True, False, True]
    expected = Predictor.from_pretrained(DEFAULT_PREDICTOR).predict(["a cat"])[0]
    assert [float(cell) for cell in rows[1][1:11]] == pytest.approx(expected)
    assert piped == named


@pytest.mark.parametrize("predictor", ["static", "mean_word_length"])
def test_blank_prompt_keeps_its_row_and_is_noted(tmp_path, predictor):
    (tmp_path / "p.csv").write_text('id,prompt\n1,a cat\n2," "\n3,a dog\n')
    words = ("predict", "--file", "p.csv", "--predictor", predictor)
    done = run_pqpp(*words, "--format", "csv", cwd=tmp_path)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    column = "score" if predictor != "static" else "mean_rr"
    assert [row["id"] for row in rows] == ["1", "2", "3"]
    assert [bool(row[column]) for row in rows] == [True, False, True]
    assert "note: no prediction for 1 blank prompt" in done.stderr
    done = run_pqpp(*words, "--format", "json", cwd=tmp_path)
    assert json.loads(done.stdout)[1][column] is None
    assert "–" in run_pqpp(*words, cwd=tmp_path).stdout.splitlines()[3]


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("p.csv", pd.read_csv),
        ("p.jsonl", partial(pd.read_json, lines=True)),
        ("p.parquet", pd.read_parquet),
        ("p.json", pd.read_json),
    ],
)
def test_uncertainty_columns_in_every_format(tmp_path, name, read):
    prompts, targets = [PROMPTS[0], OUT_OF_DOMAIN], ["mean_hbpp", "clip_rr"]
    arguments = (*prompts, "--target", "mean_hbpp,clip_rr", "--uncertainty", "--output", name)
    done = run_pqpp("predict", *arguments, cwd=tmp_path)
    assert done.returncode == 0 and done.stdout == "", done.stderr
    frame = read(tmp_path / name)
    deviations = [f"{target}_deviation" for target in targets]
    assert list(frame.columns) == ["prompt", *targets, *deviations, *EXTRA_COLUMNS]
    predictor = Predictor.from_pretrained(DEFAULT_PREDICTOR)
    result = predictor.predict_with_uncertainty(prompts, targets)
    outside = result.out_of_domain
    result.values[outside] = result.deviations[outside] = np.nan
    assert frame[targets].to_numpy() == pytest.approx(result.values, nan_ok=True)
    assert frame[deviations].to_numpy() == pytest.approx(result.deviations, nan_ok=True)
    assert frame["distance"].tolist() == pytest.approx(result.distance)
    assert frame["out_of_domain"].tolist() == outside.tolist()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], "standard input is empty"),
        (["a cat", "--file", "p.csv"], "give only one of PROMPT"),
        (["--file", "other.csv"], "no column 'prompt' (columns: id, text, caption); set --column"),
        (["--file", "empty.csv"], "empty.csv has no prompts"),
        (["a cat", "names.txt"], "write --file names.txt"),
        (["--dataset", "empty.csv"], "empty.csv has no prompts"),
        (["--file", "p.csv", "--seed", "3"], "unknown argument --seed; no option is similar"),
        (["a cat", "-o", "x.csv"], "did you mean --output?"),
        (["--prompt", "a cat"], "write PROMPT without a flag"),
        (["a.png"], "'a.png' is a file name, not a prompt"),
        (["a cat", "--uncertainty", "--predictor", "n_words"], "does not estimate uncertainty"),
    ],
)
def test_invalid_input_is_one_line(tmp_path, arguments, expected):
    (tmp_path / "names.txt").write_text("a cat\n")
    (tmp_path / "empty.csv").write_text("prompt\n")
    (tmp_path / "other.csv").write_text("id,text,caption\n1,x,a cat\n")
    done = run_pqpp("predict", *arguments, cwd=tmp_path)
    assert done.returncode == 2 and expected in done.stderr, done.stderr
    assert done.stdout == "" and done.stderr.count("\n") == 1


@pytest.mark.parametrize("end", ["--format csv | head -n 1", "| cat", "--verdict | cat"])
def test_closed_pipe_is_no_error_and_tables_fit(tmp_path, end):
    command = Path(sys.executable).with_name("pqpp")
    text = "a cat on a mat in a garden with a dog and a bird and a bowl in front of a house\n"
    (tmp_path / "p.txt").write_text(text * 1000)  # more than a pipe holds
    words = ["bash", "-o", "pipefail", "-c", f"'{command}' predict --file p.txt {end}"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.startswith("prompt") and "Traceback" not in done.stderr
    assert "csv" in end or max(map(len, done.stdout.splitlines())) <= 100


def test_predictions_follow_the_input_columns(tmp_path):
    (tmp_path / "p.csv").write_text("id;caption;mean_rr;note\n007;A cat.;.5;x\n08;A dog.;1;\n")
    words = ["--file", "p.csv", "--column", "caption", "--target", "mean_hbpp"]
    done = run_pqpp("predict", *words, "--output", "out.csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    with (tmp_path / "out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["id", "caption", "mean_rr", "note", "mean_hbpp", *EXTRA_COLUMNS]
    copied = [(row["id"], row["mean_rr"], row["note"]) for row in rows]
    assert copied == [("007", ".5", "x"), ("08", "1", "")]
    words = ["A cat.", "A dog.", "--target", "mean_hbpp", "--format", "csv"]
    unjoined = run_pqpp("predict", *words, cwd=tmp_path)
    values = [row["mean_hbpp"] for row in csv.DictReader(unjoined.stdout.splitlines())]
    assert [row["mean_hbpp"] for row in rows] == values


def test_notes_are_one_line(tmp_path):
    (tmp_path / "p.csv").write_bytes(b'"x\rpqpp: error: a\n.prompt"\na cat\n')
    words = ["predict", "--file", "p.csv", "--predictor=n_words"]
    script = Path(sys.executable).with_name("pqpp")
    done = subprocess.run([script, *words], cwd=tmp_path, capture_output=True)
    assert rb"assumed column x\rpqpp: error: a\n.prompt" in done.stderr and b"\r" not in done.stderr
    assert all(line.startswith(b"pqpp: note: ") for line in done.stderr.splitlines())


def test_control_characters_and_bars_in_prompts_are_escaped(tmp_path):
    prompt = "a \x1b[31mred\x07 cat | a \x9b1mdog\u202e"
    (tmp_path / "p.jsonl").write_text(json.dumps({"prompt": prompt}))
    words = ("--file", "p.jsonl", "--predictor", "n_words")
    for style, mark in (("table", "|"), ("markdown", r"\|")):
        done = run_pqpp("predict", *words, "--format", style, cwd=tmp_path)
        assert rf"a \x1b[31mred\x07 cat {mark} a \x9b1mdog\u202e" in done.stdout
        assert not set(done.stdout) & set("\x1b\x07\x9b\u202e")
    done = run_pqpp("predict", *words, "--column", "x\x1b[2J\x07", cwd=tmp_path)
    assert done.returncode == 2 and not set(done.stderr) & set("\x1b\x07")
    (tmp_path / "README.md").write_text("\x1b[A" * 9)  # moves the cursor, as progress bars do
    done = run_pqpp("datasets", "show", ".", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout == r"\x1b[A" * 9 + "\n"
    done = run_pqpp("predict", *words, "--output", "a\nb\x1b[2J.csv", cwd=tmp_path)
    assert done.stderr.splitlines()[-1] == r"written: a\nb\x1b[2J.csv"
    done = run_pqpp("predict", *words, "--tar\x1b[2J\x07", cwd=tmp_path)
    assert done.returncode == 2 and not set(done.stderr) & set("\x1b\x07")


def test_names_of_a_downloaded_predictor_are_escaped_or_refused(tmp_path, capsys):
    from pqpp_models.text.ridge.fitting import fit

    prompts, scores = [f"{n} cats" for n in range(40)], [[n % 7] for n in range(40)]
    folder = fit(prompts, scores, "mine_rating").save_pretrained(tmp_path / "mine")
    config = (folder / "config.json").read_text()
    (folder / "config.json").write_text(config.replace("mine_", "m<b>|_"))
    words = ("predict", "a red cat", "--predictor", str(folder))
    for name, escaped in (("t.txt", "m<b>|_rating"), ("t.md", r"m\<b>\|\_rating")):
        assert main([*words, "--explain", "--output", str(tmp_path / name)]) == 0
        text = (tmp_path / name).read_text()
        assert text.count("_rating") == text.count(escaped) == 2
    (folder / "config.json").write_text(config.replace("mine_", "m\\u001b[2J_"))
    for words in (["predict", "a cat", "--predictor"], ["models", "show"]):
        assert main([*words, str(folder)]) == 2 and "\x1b" not in capsys.readouterr().err


@pytest.mark.parametrize("source", ["csv", "jsonl", "json", "parquet", "pipe", "table", "folder"])
def test_prompts_are_predicted_in_batches(tmp_path, monkeypatch, source):
    from pqpp_models import predict, prompt_rows

    sizes, predict_columns = [], predict.predict_columns

    def count_rows(predictor, rows, *options, **more):
        sizes.append(len(rows))
        return predict_columns(predictor, rows, *options, **more)

    monkeypatch.setattr(predict, "predict_columns", count_rows)
    monkeypatch.setattr(prompt_rows, "_AT_ONCE", 256)
    monkeypatch.chdir(tmp_path)
    count = 1000
    prompts = [f"a cat and {n} dogs" for n in range(count)]
    columns = {"prompt": prompts, "n": [*range(count)]}
    (tmp_path / "mine").mkdir()
    kind = source if source in ("jsonl", "json", "parquet") else "csv"
    path = tmp_path / ("mine" if source == "folder" else "") / f"p.{kind}"
    path.write_bytes(encode_table(kind, columns))
    (tmp_path / "p.txt").write_text("\n".join(prompts))
    words = {"pipe": ["--file", "-"], "table": ["--dataset", "p.csv"]}
    words["folder"] = ["--dataset", "mine"]
    with (tmp_path / "p.txt").open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        command = ["predict", *words.get(source, ["--file", path.name]), "--predictor", "n_words"]
        assert main([*command, "--output", "out.csv"]) == 0
    assert sum(sizes) == count and max(sizes) <= 256
    result = pd.read_csv("out.csv")
    assert result["prompt"].tolist() == prompts and (result["score"] == 5).all()
    assert source == "pipe" or result["n"].tolist() == list(range(count))


@pytest.mark.parametrize("more", [[], ["--verdict"], ["--target", "mean_rr"]])
def test_unreliable_predictions_are_noted(more, capsys):
    tags = "masterpiece, best quality, 1girl, solo, blue eyes, long hair, smile"
    assert main(["predict", tags, "a cat", *more]) == 0
    assert ("alignment of 1 prompt is not reliable" in capsys.readouterr().err) == (not more)


def test_single_prompt_lists_ignored_parts(capsys):
    assert main(["predict", "(masterpiece:1.3) a cat --ar 16:9"]) == 0
    assert "not read: flag: --ar 16:9; weight: (masterpiece:1.3)" in capsys.readouterr().out
