"""`pqpp demo`: on PQPP's validation prompts if available, else on a generated sample."""

import csv
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from support.file_server import serve

from pqpp_cli.main import main
from pqpp_datasets import sources

FILE = "dataset/validation.csv"
FIRST_STEP = "1. The shipped predictor, static, on a few prompts"


def run_demo(folder, capsys, *more):
    status = main(["demo", "--output", str(folder / "demo"), *more])
    output = capsys.readouterr()
    return status, output.out, output.err


def read_figures(folder):
    with (folder / "demo" / "figures.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def check_real_results(folder, out):
    """Check that the results are those of `static-train` on real prompts, with published ones."""
    rows = read_figures(folder)
    computed = {(r["predictor"], r["target"]): r for r in rows if r["published"] == "False"}
    assert {r["split"] for r in computed.values()} == {"validation"} and "GENERATED" not in out
    assert {r["fitted_rows"] for r in computed.values()} == {"0"}
    # As docs/worth.md has it.
    for target, r in (("mean_hbpp", 0.590), ("mean_p10", 0.593), ("mean_rr", 0.370)):
        assert float(computed["static-train", target]["pearson"]) == pytest.approx(r, abs=6e-4)
        assert computed["static-train", target]["n"] == "2000"
    assert {name for name, _ in computed} == {"static-train", "mean_word_length", "word_count"}
    published = {r["predictor"] for r in rows if r["published"] == "True"}
    assert {"finetuned_bert", "finetuned_clip"} <= published and "finetuned_clip [" in out
    page = (folder / "demo" / "report.html").read_text("utf-8")
    assert "Generated data" not in page and "fine-tuned CLIP" in page


@pytest.fixture
def server(real_data, monkeypatch, cache):
    """A server of the validation file, to which its pinned URL points."""
    pinned = sources.get_release("pqpp/v1.0")
    with serve() as state:
        state.files["/validation.csv"] = (real_data / "pqpp" / "v1.0" / FILE).read_bytes()
        file = replace(pinned.find_file(FILE), url=f"{state.url}/validation.csv")
        monkeypatch.setattr(sources, "get_release", lambda folder: replace(pinned, files=(file,)))
        yield state


@pytest.mark.realdata
def test_demo_downloads_only_the_validation_file(server, tmp_path, capsys, monkeypatch):
    status, out, *_ = run_demo(tmp_path, capsys)
    assert status == 0 and FIRST_STEP in out
    assert server.requests == [("/validation.csv", None)]
    check_real_results(tmp_path, out)
    status, out, *_ = run_demo(tmp_path, capsys)  # replaces the earlier demo, without a download
    assert status == 0 and len(server.requests) == 1
    monkeypatch.setattr("pqpp_models.bench.report.render_report", lambda *_: 1 / 0)
    assert run_demo(tmp_path / "b", capsys)[0] == 1 and not (tmp_path / "b" / "demo").exists()


@pytest.mark.realdata
def test_demo_reads_the_data_dir(real_data, tmp_path, capsys, monkeypatch, cache):
    monkeypatch.setattr(sources, "get_release", lambda folder: pytest.fail("nothing is downloaded"))
    (tmp_path / "root" / "pqpp" / "v1.0" / "dataset").mkdir(parents=True)
    path = tmp_path / "root" / "pqpp" / "v1.0" / FILE
    shutil.copy(real_data / "pqpp" / "v1.0" / FILE, path)
    monkeypatch.setenv("PQPP_DATA_DIR", str(tmp_path / "root"))
    status, out, *_ = run_demo(tmp_path, capsys)
    assert status == 0 and f"validation prompts: {path.parents[1]}" in out
    check_real_results(tmp_path, out)
    monkeypatch.setenv("PQPP_DATA_DIR", str(tmp_path / "nowhere"))
    status, _, err = run_demo(tmp_path, capsys)
    assert status == 2 and "PQPP_DATA_DIR" in err and "is not a folder" in err


def test_offline_demo_shows_no_published_results(tmp_path, capsys, monkeypatch, cache):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    status, out, *_ = run_demo(tmp_path, capsys)
    assert status == 0
    assert "PQPP's validation prompts are not available: " in out and "offline mode is on" in out
    assert "No one rated" in out and "GENERATED DATA" in out
    published = re.compile(r"finetuned_|fine-tuned CLIP|\[a\]|\[b\]")
    page = (tmp_path / "demo" / "report.html").read_text("utf-8")
    assert not published.search(out) and not published.search(page) and "Generated data." in page
    rows = read_figures(tmp_path)
    assert {r["published"] for r in rows} == {"False"}
    r = {row["predictor"]: float(row["pearson"]) for row in rows if row["target"] == "mean_hbpp"}
    assert set(r) == {"static-train", "word_count", "mean_word_length"}
    # The note quotes the results that are in docs/worth.md.
    worth = (Path(__file__).parents[2] / "docs" / "worth.md").read_text("utf-8")
    for name, figure in (("`static-train`, validation", ".590"), ("fine-tuned BERT", ".568")):
        assert re.search(rf"{re.escape(name)}[^|]*\| {re.escape(figure)} /", worth)
        assert figure in out
    again = run_demo(tmp_path, capsys)
    assert again[0] == 0 and again[1].split("\ndone in")[0] == out.split("\ndone in")[0]


def test_serves_on_no_invalid_host(capsys):
    pytest.importorskip("gradio")
    assert main(["demo", "--serve", "--host", "ü" * 70, "--port", "0"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
