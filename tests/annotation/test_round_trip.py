"""From people made up to a benchmark: the export of a study, `pqpp build`, `pqpp bench`."""

import json
import shlex

import numpy as np
import pytest
from PIL import Image
from scipy import stats
from support.kinds import write_csv

from pqpp_annotation.demo import Persona, simulate_answers
from pqpp_annotation.export import export_study
from pqpp_annotation.store.database import open_store
from pqpp_annotation.study import make_study
from pqpp_cli.main import main

CONTROL = [Persona(f"member-{n}", noise=0.05, role="control") for n in (1, 2)]
HONEST = [Persona(f"honest-{n}", noise=0.01 * n) for n in range(1, 6)]
COLUMNS = ("prompt_id", "prompt", "image", "model", "control")
BAD = [Persona("random", "random"), Persona("constant", "constant")]


def write_study(folder, prompts=36, controls=12):
    """Write a study whose images get worse with the prompt's words; return it and the truth."""
    (folder / "images").mkdir()
    rows, given, draw = [], {}, np.random.default_rng(0)
    for number in range(prompts + controls):
        words = number % 6
        truths = {"sdxl": 1 - words / 6 + draw.uniform(-0.15, 0.15), "reference": 1.0}
        for model, truth in truths.items():
            name = f"{number}-{model}.png"
            picture = Image.new("RGB", (4, 4), (number, len(model), 0))
            picture.save(folder / "images" / name)
            given[name] = min(max(truth, 0.0), 0.99)
            row = (f"q{number}", f"a cat{' and a dog' * words} {number}", name, model)
            flag = "yes" if number >= prompts else ""
            rows.append(dict(zip(COLUMNS, (*row, flag), strict=True)))
    write_csv(folder / "prompts.csv", rows)
    paths = (folder / "study.yaml", folder / "prompts.csv", folder / "images")
    return make_study(*paths, "relevance", control={"every": 3}), given


def of_hashes(store, given):
    """Return the truth by the hashes of the images."""
    from sqlalchemy import select

    from pqpp_annotation.store.tables import ItemImage

    with store.begin_read() as db:
        rows = db.execute(select(ItemImage.sha256, ItemImage.image)).all()
    return {sha256: given[image] for sha256, image in rows}


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A study that nine people made up have done: store, truth by prompt."""
    folder = tmp_path_factory.mktemp("study")
    study, given = write_study(folder)
    store = open_store(study)
    truth = of_hashes(store, given)
    simulate_answers(store, CONTROL, truth)
    simulate_answers(store, HONEST + BAD, truth)
    by_prompt = {name.partition("-")[0]: t for name, t in given.items() if "sdxl" in name}
    yield store, {f"q{number}": t for number, t in by_prompt.items()}
    store.close()


def exported(done, folder):
    store, _ = done
    lines = export_study(store, folder / "export")
    return lines, json.loads((folder / "export" / "export.json").read_text())


def test_bad_annotators_are_refused_and_scores_follow_the_truth(
    done, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    lines, facts = exported(done, tmp_path)
    assert any("pqpp build" in line for line in lines)
    assert main(shlex.split(facts["build"].removeprefix("pqpp "))) == 0
    said = capsys.readouterr().out
    assert "the votes of 5 of 7 annotators count" in said
    from pqpp_datasets.load import load_benchmark

    name = shlex.split(facts["build"])[-1]
    rows = []
    for split in ("train", "validation", "test"):
        rows += load_benchmark(str(tmp_path / name), split=split).to_list()
    known = [row for row in rows if row["sdxl_hbpp"] is not None]
    assert len(known) >= 33
    scores = [row["sdxl_hbpp"] for row in known]
    planted = [done[1][row["prompt_id"]] for row in known]
    assert stats.pearsonr(scores, planted).statistic > 0.9
    arguments = ["bench", "--dataset", f"./{name}", "--split", "train", "--predictors", "n_words"]
    arguments += ["--targets", "sdxl_hbpp", "--format", "json"]
    assert main(arguments) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["pearson"] < -0.8


def test_the_votes_that_count_give_the_same_scores(done, tmp_path):
    from support.votes import build, scores

    exported(done, tmp_path)
    every = build(tmp_path / "export" / "judgments.csv", scale="pqpp")
    counted = build(tmp_path / "export" / "counted" / "judgments.csv", scale="pqpp")
    wanted = {p: s for p, s in scores(every, "sdxl_hbpp").items() if s is not None}
    assert scores(counted, "sdxl_hbpp") == pytest.approx(wanted, abs=1e-12)
    assert len(counted.generation.table.value) == every.generation.counted.size


def test_no_raw_vote_is_dropped_and_the_same_study_gives_the_same_bytes(done, tmp_path):
    store, _ = done
    exported(done, tmp_path)
    first = {p.name: p.read_bytes() for p in (tmp_path / "export").glob("*.*")}
    with store.begin_read() as db:
        from sqlalchemy import func, select

        from pqpp_annotation.store.tables import Answer

        count = db.scalar(select(func.count()).select_from(Answer))
    assert first["answers.csv"].count(b"\n") == count + 1
    exported(done, tmp_path)
    assert first == {p.name: p.read_bytes() for p in (tmp_path / "export").glob("*.*")}
