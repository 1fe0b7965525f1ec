"""Routing tables: figures, the choice of models, and the command."""

import json

import datasets
import numpy as np
import pytest

from pqpp_cli.main import main
from pqpp_datasets.load import load_benchmark
from pqpp_metrics.functional import routing_gain
from pqpp_models import Predictor
from pqpp_models.bench.routing import choose_pair, run_routing
from pqpp_models.bench.split import Split
from pqpp_models.errors import PredictorError

N_WORDS = {"n_words": Predictor.from_pretrained("n_words")}


def make_split(**columns):
    """Make a split of prompts of 1 to 8 words with the columns as true values."""
    rows = {"prompt": [" ".join(["dog"] * n) for n in range(1, 9)], **columns}
    return Split.from_rows(datasets.Dataset.from_dict(rows))


WEAK, STRONG = [2.0, 2, 2, 1, 1, 0, 0, 0], [2.0, 2, 2, 2, 2, 2, 2, 2]


def test_row_has_figures_of_routing_gain():
    split = make_split(flux_hbpp=STRONG, mini_hbpp=WEAK)
    table = run_routing(split, N_WORDS, ["flux_hbpp", "mini_hbpp"])
    assert (table.weak, table.strong, table.means) == ("mini_hbpp", "flux_hbpp", (1.0, 2.0))
    [row] = [one for one in table.rows if one.predictor == "n_words"]
    expected = routing_gain(range(8), WEAK, STRONG)
    assert row.rule == "n_words, harder prompts" and row.figures["oracle_share"] == 1.0
    names = ("routing_gain", "ci_low", "ci_high")
    assert all(row.figures[name] == expected[name] for name in names)
    assert np.array_equal(row.figures["qualities"], expected["qualities"])
    assert [one.rule for one in table.rows[-2:]] == ["oracle", "random"]
    assert table.rows[-1].figures["routing_gain"] == pytest.approx(0, abs=1e-12)


def test_chooses_two_models_with_one_measure():
    split = make_split(a_hbpp=STRONG, b_hbpp=WEAK, mean_hbpp=WEAK, c_p10=[0.5] * 8)
    assert choose_pair(split, ["c_p10", "mean_hbpp", "a_hbpp", "b_hbpp"]) == ("b_hbpp", "a_hbpp")
    assert choose_pair(split, ["a_hbpp", "c_p10"]) == ("c_p10", "a_hbpp")
    partial = make_split(a_hbpp=WEAK, b_hbpp=[1.9, 1.9, 1.9, *[None] * 5])  # of three prompts
    assert choose_pair(partial, ["a_hbpp", "b_hbpp"]) == ("b_hbpp", "a_hbpp")
    with pytest.raises(PredictorError, match="routing needs two targets such as"):
        choose_pair(split, ["mean_hbpp", "a_hbpp", "c_p10"])


@pytest.mark.realdata
def test_train_build_reaches_half_of_oracle_on_pqpp(real_data):
    rows = load_benchmark("pqpp-v1.0", data_dir=str(real_data), split="validation")
    split = Split.from_rows(rows)
    static = {"static": Predictor.from_pretrained("static")}
    table = run_routing(split, static, ["glide_hbpp", "sdxl_hbpp"])
    gain, low = table.rows[0], table.rows[1]
    assert gain.rule == "static-train, predicted gain" and gain.stands_for == "static"
    gains = [one.figures["routing_gain"] for one in table.rows]
    assert gains[0] >= 0.1225 and gain.figures["oracle_share"] == pytest.approx(0.4982, abs=2e-3)
    assert low.rule == "static-train, low glide_hbpp" and gains[1] < gains[0]
    assert gain.figures["qualities"] == pytest.approx((0.969, 1.304), abs=5e-3)
    assert gains[2:] == pytest.approx([0.2468, 0], abs=1e-4)
    assert any("replaces static" in note for note in table.notes)


def test_command_writes_plot_and_report(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    columns = {"a_hbpp": WEAK, "b_hbpp": STRONG, r"$\x$_hbpp": STRONG}
    make_split(**columns).rows.to_csv("mine.csv")
    arguments = ["bench", "routing", "--dataset", "mine.csv", "--predictors", "n_words"]
    pair = ["--targets", "a_hbpp,b_hbpp"]
    assert main([*arguments, *pair, "--plot", "curve.png"]) == 0
    assert "n_words, harder prompts" in capsys.readouterr().out
    assert (tmp_path / "curve.png").read_bytes()[:4] == b"\x89PNG"
    assert main([*arguments, "--targets", r"a_hbpp,$\x$_hbpp", "--plot", "curve.svg"]) == 0
    capsys.readouterr()
    assert main([*arguments, *pair, "--format", "json", "--report", "r.html"]) == 0
    output = json.loads(capsys.readouterr().out)
    page = (tmp_path / "r.html").read_text("utf-8")
    rows = output["tables"]["routing"]["rows"]
    for row in rows:
        gain = round(1000 * row["gain over random [95%]"][0])
        assert row["rule"] in page and f".{gain:03d} [" in page
    assert output["notes"][0].startswith("a_hbpp mean 1.000, b_hbpp mean 2.000, 8 prompts")
    assert len(rows) == 3 and np.isclose(rows[0]["of oracle"], 1)
    assert main([*arguments, "--targets", "a_hbpp"]) == 2
    assert "needs two targets" in capsys.readouterr().err
