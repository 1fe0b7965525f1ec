"""The circle for anybody's votes: votes -> dataset -> table -> predictor -> Hub -> back."""

import json
import shlex
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from pqpp_cli.main import main
from pqpp_models import Predictor
from pqpp_models.bench.experiments import experiment_cells

MODELS = {"flux": 0.0, "mini-dalle": 0.4}
TARGETS = ["flux_hbpp", "mini-dalle_hbpp", "mean_hbpp"]


def write_votes(path, prompts: int = 60) -> None:
    """Write votes of three people on images of two models; more objects are harder."""
    random = np.random.default_rng(0)
    lines = ["prompt,image,model,annotator,label"]
    for n in range(prompts):
        count = n % 6
        for model, harder in MODELS.items():
            raw = 2 - 0.5 * count - harder + random.normal(0, 0.4, 3)
            labels = np.clip(np.rint(raw), -1, 2).astype(int)
            text = f"A cat and {count} birds number {n}."
            lines += [f"{text},{n}_{model}.png,{model},p{a},{v}" for a, v in enumerate(labels)]
    path.write_text("\n".join(lines))


@pytest.fixture
def mine(tmp_path, monkeypatch, cache, capsys):
    """A benchmark built from votes, in the working directory, with no Hub to be reached."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    write_votes(tmp_path / "votes.csv")
    assert main(["build", "votes.csv", "--output", "mine"]) == 0
    capsys.readouterr()
    return tmp_path / "mine"


@pytest.mark.slow  # eight seconds of CPU
def test_the_short_road_of_the_readme_with_a_thousand_prompts(tmp_path, monkeypatch, cache, capsys):
    """Votes -> dataset -> table -> predictor -> Hub: its four commands, as they stand there."""
    from support import local_hub
    from support.processes import run_warm

    monkeypatch.chdir(tmp_path)
    write_votes(tmp_path / "votes.csv", 1000)  # of three people, on two models' images: 6,000
    text = (tmp_path / "votes.csv").read_text()
    (tmp_path / "votes.csv").write_text(text.replace(",label", ",rating", 1))
    page = Path(__file__).parents[2] / "README.md"
    road = page.read_text("utf-8").partition("pqpp build votes.csv")[1:]
    lines = "".join(road).partition("```")[0].strip().splitlines()
    words = [shlex.split(line, comments=True)[1:] for line in lines]
    assert [line[0] for line in words] == ["build", "bench", "fit", "models"]
    for line in words[:3]:
        assert main(line) == 0
    said = capsys.readouterr().out
    assert "train: 600 prompts" in said and "static" in said and "n_words" in said
    given = [*words[3][:3], "pqpp/mine", "--dry-run"]  # an owner who is there
    push = f"from pqpp_cli.main import main; raise SystemExit(main({given!r}))"
    with local_hub.serve() as hub:
        done = run_warm(push, tmp_path, **hub.environment(tmp_path / "home"))
    assert done.returncode == 0 and "model.safetensors" in done.stdout, done.stderr


@pytest.fixture
def fitted(mine, capsys):
    """A predictor that was fitted to its train split."""
    assert main(["fit", "mine", "--output", "my_predictor"]) == 0
    said = capsys.readouterr().out
    assert all(target in said for target in TARGETS)
    return mine.parent / "my_predictor"


def printed(capsys, *words):
    capsys.readouterr()
    assert main(list(words)) == 0
    return capsys.readouterr().out


def rows_of(folder, split):
    from pqpp_datasets.load import load_benchmark

    return load_benchmark(str(folder), split=split)


def test_the_main_table_has_its_own_targets_and_no_row_of_the_paper(mine, fitted, capsys):
    words = ("bench", "--dataset", "mine", "--predictors", "static,./my_predictor")
    found = json.loads(printed(capsys, *words, "--format", "json"))
    assert found["published"] == []
    ours = {(r["predictor"], r["target"]): r for r in found["rows"]}
    assert [t for p, t in ours if p == "./my_predictor"] == TARGETS
    assert [t for p, t in ours if p == "static"] == ["mean_hbpp"]
    rows = rows_of(mine, "validation")
    predictor = Predictor.from_pretrained(fitted)
    predicted = predictor.predict(rows["prompt"][:], "mini-dalle_hbpp")[:, 0]
    expected = stats.pearsonr(predicted, rows["mini-dalle_hbpp"][:]).statistic
    cell = ours["./my_predictor", "mini-dalle_hbpp"]
    assert cell["pearson"] == pytest.approx(expected, abs=1e-9) and cell["config"] == "mine"
    text = printed(capsys, *words)
    assert text.index("flux_hbpp") < text.index("mini-dalle_hbpp") < text.index("mean_hbpp")
    assert "published" not in text


@pytest.mark.parametrize(
    ("prompts", "line"),
    [
        (
            ["ein Hund auf dem Sofa", "沙发上的狗", "ein Ball im Gras"],
            'language: ["de", "zh"]',
        ),
        (["a dog on the sofa", "红色的猫", *(f"{n} dogs on a sofa" for n in range(60))], '["en"]'),
        (["красная собака на пляже", "a dog on the sofa"], None),  # Russian, or near it
        (["dog", "cat"], None),
    ],
)
def test_the_card_tells_the_languages_that_prompts_are_in(tmp_path, cache, prompts, line):
    rows = [f"{prompt},m,{n % 5 + 1}" for n, prompt in enumerate(prompts)]
    (tmp_path / "v.csv").write_text("\n".join(["prompt,model,label", *rows]), "utf-8")
    words = ["build", str(tmp_path / "v.csv"), "--scale", "likert5", "--output"]
    assert main([*words, str(tmp_path / "b")]) == 0
    card = (tmp_path / "b" / "README.md").read_text("utf-8")
    assert f"{line}\n" in card if line else "language" not in card


def test_each_model_is_predicted_from_the_other(mine, fitted, capsys):
    words = ("bench", "--dataset", "mine", "--predictors", "./my_predictor", "--format", "json")
    found = json.loads(printed(capsys, *words, "--table", "cross-model"))
    labels = {row["label"]: (row["predicted"], row["target"]) for row in found["rows"]}
    assert labels == {
        "mini-dalle→flux_hbpp": ("mini-dalle_hbpp", "flux_hbpp"),
        "flux→mini-dalle_hbpp": ("flux_hbpp", "mini-dalle_hbpp"),
    }


def test_pqpps_cross_tables_are_those_of_the_paper():
    from pqpp_models import TARGETS as NINE

    cross = {(c.predicted, c.reference) for c in experiment_cells("cross-model", NINE, [])}
    assert cross == {
        *(("sdxl_hbpp", "glide_hbpp"), ("glide_hbpp", "sdxl_hbpp")),
        *(("blip2_p10", "clip_p10"), ("clip_p10", "blip2_p10")),
        *(("blip2_rr", "clip_rr"), ("clip_rr", "blip2_rr")),
    }
    task = {(c.predicted, c.reference) for c in experiment_cells("cross-task", NINE, [])}
    assert task == {
        *(("clip_p10", "glide_hbpp"), ("blip2_p10", "sdxl_hbpp")),
        *(("glide_hbpp", "clip_p10"), ("glide_hbpp", "clip_rr")),
        *(("sdxl_hbpp", "blip2_p10"), ("sdxl_hbpp", "blip2_rr")),
    }


def test_generalisation_between_datasets_that_share_a_measure(mine, fitted, capsys):
    columns = ["prompt,sd_hbpp,other"]
    columns += [f"A dog and {n % 5} cats number {n}.,{2 - n % 4 / 2},{n % 7}" for n in range(30)]
    (mine.parent / "theirs").mkdir()
    (mine.parent / "theirs" / "test.csv").write_text("\n".join(columns))
    words = ("bench", "--table", "generalisation", "--split", "test", "--format", "json")
    words += ("--predictors", "./my_predictor,mean_word_length", "--dataset")
    found = json.loads(printed(capsys, *words, "theirs", "--scores", "mine:flux_hbpp"))["rows"]
    told = {(row["prompts"], row["predictor"]): row for row in found}
    assert {key[0] for key in told} == {"theirs: sd_hbpp", "mine: flux_hbpp"}
    theirs = told["theirs: sd_hbpp", "./my_predictor"]
    rows = rows_of(mine.parent / "theirs", "test")
    predicted = Predictor.from_pretrained(fitted).predict(rows["prompt"][:], "mean_hbpp")[:, 0]
    assert theirs["target"] == "mean_hbpp" and theirs["n"] == 30
    expected = stats.spearmanr(predicted, rows["sd_hbpp"][:]).statistic
    assert theirs["spearman"] == pytest.approx(expected, abs=1e-9)
    assert told["mine: flux_hbpp", "./my_predictor"]["target"] == "flux_hbpp"
    both = ("theirs", "--targets", "other", "--scores", "mine:mean_hbpp")
    found = json.loads(printed(capsys, *words, *both))["rows"]
    assert [(row["prompts"], row["predictor"]) for row in found] == [
        ("theirs: other", "mean_word_length"),
        ("mine: mean_hbpp", "./my_predictor"),
        ("mine: mean_hbpp", "mean_word_length"),
    ]
    assert main([*words, "theirs", "--targets", "other"]) == 2
    assert "nothing of the measure of other" in capsys.readouterr().err


def test_a_default_predictor_that_has_no_target_is_left_out_with_a_note(mine, capsys):
    (mine.parent / "cut.csv").write_text(
        "prompt,flux_p5\n" + "\n".join(f"{n} cats on a mat,{n % 5 / 5}" for n in range(9))
    )
    assert main(["bench", "--dataset", "cut.csv"]) == 0
    said = capsys.readouterr()
    assert "without static: it predicts" in said.err and "P@5 (retrieval): Pearson" in said.out


def test_alignment_stands_for_ratings_of_anybodys_images(mine, capsys):
    """Without a word about predictors the shipped one stands there, by what is nearest."""
    lines = [f"{n} cats and {'gigantic ' * (n % 4)}dogs,{n % 5 + 1},{n % 4}" for n in range(9)]
    (mine.parent / "likert.csv").write_text("\n".join(["prompt,flux_rating,sdxl_rating", *lines]))
    rows = [line.split(",") for line in lines]
    expected = Predictor.from_pretrained("static").predict([r[0] for r in rows], "alignment")[:, 0]
    found = json.loads(printed(capsys, "bench", "--dataset", "likert.csv", "--format", "json"))
    ours = {r["target"]: r for r in found["rows"] if r["predictor"] == "static"}
    assert {t: r["stands_in"] for t, r in ours.items()} == dict.fromkeys(
        ("flux_rating", "sdxl_rating"), "alignment"
    )
    for place, target in enumerate(("flux_rating", "sdxl_rating"), 1):
        true = [float(r[place]) for r in rows]
        assert ours[target]["kendall"] == pytest.approx(
            stats.kendalltau(expected, true).statistic, abs=1e-9
        )
    text = printed(capsys, "bench", "--dataset", "likert.csv", "--predictors", "static,n_words")
    assert "static (alignment)" in text and "n_words " in text
    assert "static does not predict flux_rating, sdxl_rating: its alignment stands in" in text
    words = ("bench", "--dataset", "likert.csv", "--predictors", "static,mean_word_length")
    tested = printed(capsys, *words, "--baseline", "mean_word_length", "--format", "json")
    assert json.loads(tested)["rows"][0]["kendall_baseline_p"] is not None
    page = mine.parent / "r.html"
    assert main([*words, "--report", str(page), "--no-spaces", "--explain"]) == 0
    assert "static" in page.read_text("utf-8")
    capsys.readouterr()
    words = ("bench", "--table", "generalisation", "--dataset", "likert.csv", "--format", "json")
    found = json.loads(printed(capsys, *words, "--predictors", "static"))["rows"]
    assert [row["target"] for row in found] == ["alignment", "alignment"]
    table = printed(
        capsys, *words[:-2], "--predictors", "static", "--scores", "likert.csv:flux_rating"
    )
    assert table.count("alignment") >= 3


def test_a_folder_with_a_listed_name_is_told(mine, capsys, caplog):
    mine.rename(mine.parent / "sample")
    words = ["bench", "--predictors", "mean_word_length", "--dataset"]
    assert main([*words, "sample"]) == 0
    assert "sample is the published benchmark; ./sample is the fold" in caplog.text
    capsys.readouterr()
    assert main([*words, "./sample"]) == 0
    said = capsys.readouterr()
    assert said.err == "" and "rows: ./sample" in said.out


def test_what_says_nothing_of_a_set_is_named(mine, fitted, capsys):
    lines = [f"{n} cats and {n % 3} dogs on a mat,{n % 5 / 5},{n % 4 - 1}" for n in range(9)]
    (mine.parent / "two.csv").write_text("\n".join(["prompt,siglip_p5,flux_hbpp", *lines]))
    words = ["bench", "--table", "generalisation", "--dataset", "two.csv"]
    assert main([*words, "--predictors", "./my_predictor"]) == 0
    said = capsys.readouterr()
    assert "flux_hbpp" in said.out and "siglip_p5" not in said.out
    assert "note: without ./my_predictor on two.csv: siglip_p5: it predicts flux_h" in said.err


def test_a_train_split_is_refused_to_what_was_fitted_to_it_alone(mine, fitted, capsys):
    words = ["bench", "--dataset", "mine", "--split", "train", "--predictors"]
    assert main([*words, "static"]) == 0
    assert "rows: mine, train split" in capsys.readouterr().out
    assert main([*words, "./my_predictor"]) == 2
    assert "was fitted to the train split of mine" in capsys.readouterr().err


def test_prompts_of_the_benchmark_are_predicted(mine, fitted, capsys):
    words = ("predict", "--dataset", "mine", "--split", "test", "--predictor", "./my_predictor")
    found = json.loads(printed(capsys, *words, "--targets", "mini-dalle_hbpp", "--format", "json"))
    rows = rows_of(mine, "test")
    assert [row["prompt"] for row in found] == rows["prompt"][:]
    expected = Predictor.from_pretrained(fitted).predict(rows["prompt"][:], "mini-dalle_hbpp")
    assert [row["mini-dalle_hbpp_predicted"] for row in found] == pytest.approx(expected[:, 0])


def test_the_predictor_goes_to_the_hub_and_back(mine, fitted, monkeypatch, capsys, tmp_path):
    """Pushed by the command and loaded by another process, over the real client."""
    from support import local_hub
    from support.processes import run_warm

    with local_hub.serve() as hub:
        environment = hub.environment(tmp_path / "home")
        push = (
            "from pqpp_cli.main import main; print(main(['models', 'push', FOLDER, 'pqpp/mine']))"
        )
        done = run_warm(f"FOLDER = {str(fitted)!r}\n{push}", tmp_path, **environment)
        assert done.returncode == 0 and done.stdout.splitlines()[-1] == "0", done.stderr
        load = (
            "import json; from pqpp_models import Predictor\n"
            "loaded = Predictor.from_pretrained('pqpp/mine')\n"
            "print(json.dumps([loaded.targets, loaded.predict(['A cat.']).tolist()]))"
        )
        done = run_warm(load, tmp_path, **environment)
    targets, values = json.loads(done.stdout.splitlines()[-1])
    assert targets == TARGETS
    assert values == Predictor.from_pretrained(fitted).predict(["A cat."]).tolist()


def test_limits_that_a_dataset_tells_hold_for_its_predictions(tmp_path, monkeypatch, cache, capsys):
    import pyarrow as pa

    from pqpp_datasets.export.parquet_folder import write_split
    from pqpp_datasets.target_columns import targets_for, with_targets

    monkeypatch.chdir(tmp_path)
    prompts = [f"A cat and {n % 6} birds number {n}." for n in range(40)]
    table = pa.table({"prompt": prompts, "flux_rating": [5 - n % 6 / 2 for n in range(40)]})
    told = targets_for(["flux"], "rating", (1.0, 5.0))[:1]
    write_split(tmp_path / "rated" / "data", "train", [with_targets(table, told)])
    assert main(["fit", "rated", "--output", "my_predictor"]) == 0
    assert Predictor.from_pretrained("./my_predictor").limits == {"flux_rating": (1.0, 5.0)}


def test_prompts_are_selected_from_a_dataset(mine, capsys, tmp_path):
    pytest.importorskip("faiss", reason="pqpp datasets select needs faiss")
    np.save(tmp_path / "points.npy", np.random.default_rng(0).random((12, 4), dtype=np.float32))
    usual = ("datasets", "select", "--count", "3", "--embeddings", "points.npy", "--split")
    chosen = printed(capsys, *usual, "test", "--dataset", "mine").splitlines()
    assert len(chosen) == 3 and set(chosen) <= set(rows_of(mine, "test")["prompt"])
    for more, said in (
        (("test", "--dataset", "mine", "--file", "votes.csv"), "give one of --file, --dataset"),
        (("dev", "--dataset", "mine"), "mine has train, validation, test"),
        (("test", "--file", "votes.csv"), "--split: it is about a dataset"),
    ):
        assert main([*usual, *more]) == 2
        assert said in capsys.readouterr().err
