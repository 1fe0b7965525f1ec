"""`pqpp datasets`, `pqpp build` and `pqpp datasets select`, as the command line calls them."""

import shlex
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from datasets import load_dataset
from support.benchmark_folders import write_conqa
from support.pqpp_folders import write_v1_1
from support.rated_folders import WRITERS

from pqpp_cli.main import main


@pytest.fixture(autouse=True)
def _cache(cache):
    return cache


def test_list_and_show(capsys, monkeypatch):
    monkeypatch.setattr("pqpp_hub.pull.is_offline", lambda: True)
    assert main(["datasets", "list"]) == 0
    listed = capsys.readouterr().out
    assert (
        "pqpp (default)" in listed
        and "conceptual 50, descriptive 30" in listed
        and "222,619" in listed
    )
    for name in ("pqpp", "conqa", "richhf", "gimbrr-automated", "vistar", "sample", *WRITERS):
        assert main(["datasets", "show", name]) == 0
        shown = capsys.readouterr().out
        assert shown.startswith(name) and " split " in shown and "column" in shown
    assert main(["datasets", "show", "nope"]) == 2
    assert "no such configuration; choose among pqpp," in capsys.readouterr().err


def test_export(tmp_path, capsys):
    data = write_conqa(tmp_path / "data")
    command = ["datasets", "export", "conqa", "--data-dir", str(data), "--output"]
    out = str(tmp_path / "out")
    assert main([*command, out, "--load-option", "relevance_rule=any"]) == 0
    assert "conqa conceptual: 1 rows" in capsys.readouterr().out
    rows = load_dataset(out, split="conceptual")
    assert sum(rows[0]["judgments"]["label"]) == 3
    assert main([*command, out, "--load-option", "relevance_rule"]) == 2
    assert "write NAME=VALUE" in capsys.readouterr().err
    assert main([*command, str(data)]) == 2
    error = capsys.readouterr().err
    assert "holds other files" in error and error.count("\n") == 1


def test_push_of_a_folder_that_is_none(tmp_path, capsys):
    assert main(["datasets", "push", str(tmp_path), "someone/bench"]) == 2
    assert "no folder that was exported" in capsys.readouterr().err


VOTES = "prompt,image,model,annotator,label,source\n" + "".join(
    f"caption {n},{n}.png,sdxl,ann,{n % 4 - 1},mscoco\n" for n in range(10)
)


def test_build(tmp_path, capsys):
    (tmp_path / "votes.csv").write_text(VOTES)
    command = [
        "build",
        "--judgments",
        str(tmp_path / "votes.csv"),
        "--output",
        str(tmp_path / "out"),
    ]
    assert main([*command, "--fractions", "train=0.7,test=0.3", "--name", "Mine"]) == 0
    said = capsys.readouterr().out
    assert "train: 7 prompts" in said and "annotators: 1 of 1 admitted" in said
    assert load_dataset(str(tmp_path / "out"), split="test").num_rows == 3
    assert (tmp_path / "out" / "report.html").exists()


def test_build_warns_of_what_is_empty(tmp_path, capsys):
    (tmp_path / "votes.csv").write_text("\n".join(VOTES.splitlines()[:3]) + "\n")
    command = [
        "build",
        "--judgments",
        str(tmp_path / "votes.csv"),
        "--output",
        str(tmp_path / "out"),
    ]
    assert main(command) == 0
    line, note = capsys.readouterr().err.splitlines()
    assert note.startswith("pqpp: note: annotators got random numbers")
    assert line.startswith("pqpp: warning: the split ") and line.endswith("0.2 of 2 was asked for")


def test_build_does_not_remove_its_own_input(tmp_path, capsys):
    (tmp_path / "votes.csv").write_text(VOTES)
    out = tmp_path / "out"
    assert main(["build", "--judgments", str(tmp_path / "votes.csv"), "--output", str(out)]) == 0
    (tmp_path / "votes.csv").rename(out / "votes.csv")
    capsys.readouterr()
    assert main(["build", "--judgments", str(out / "votes.csv"), "--output", str(out)]) == 2
    error = capsys.readouterr().err
    assert "holds the input" in error and error.count("\n") == 1
    assert (out / "votes.csv").read_text() == VOTES
    shard = out / "data" / "train-00000-of-00001.parquet"
    assert main(["build", "--judgments", str(shard), "--output", str(out)]) == 2 and shard.exists()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--fractions", "train"], "write SPLIT=SHARE"),
        (["--fractions", "a b=1"], "write them like"),
        (["--fractions", "train=0.5"], "sum to 1"),
        (["--min-kappa", "7"], "min_kappa=7.0"),
        (["--runs", "runs.csv"], "runs together with relevance"),
    ],
)
def test_build_refuses_in_one_line(tmp_path, capsys, options, expected):
    (tmp_path / "votes.csv").write_text(VOTES)
    command = [
        "build",
        "--judgments",
        str(tmp_path / "votes.csv"),
        "--output",
        str(tmp_path / "out"),
    ]
    assert main([*command, *options]) == 2
    error = capsys.readouterr().err
    assert expected in error and error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_select(tmp_path, capsys):
    pytest.importorskip("faiss")
    (tmp_path / "captions.txt").write_text("".join(f"caption {n}\n" for n in range(6)))
    np.save(tmp_path / "e.npy", np.array([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]]))
    command = ["datasets", "select", str(tmp_path / "captions.txt"), "--count", "2"]
    assert main([*command, "--embeddings", str(tmp_path / "e.npy")]) == 0
    assert capsys.readouterr().out == "caption 1\ncaption 4\n"
    assert main([*command, "--embeddings", str(tmp_path / "e.npy"), "--format", "json"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == '{"row": 1, "prompt": "caption 1"}'
    assert main(command) == 2
    assert "give one of --embeddings, --encoder" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--count", "0"], "count=0: give 1 to 2"),
        (["--count", "3"], "count=3: give 1 to 2"),
        (["--count", "1", "--seed", "-1"], "seed=-1: give 0 or more"),
    ],
)
def test_select_refuses_before_it_embeds(tmp_path, capsys, monkeypatch, options, expected):
    pytest.importorskip("faiss")
    monkeypatch.setattr("pqpp_datasets.select.embed_captions", None)
    (tmp_path / "captions.txt").write_text("a\nb\n")
    assert (
        main(["datasets", "select", str(tmp_path / "captions.txt"), "--encoder", "x", *options])
        == 2
    )
    error = capsys.readouterr().err
    assert expected in error and error.count("\n") == 1


def test_help_of_select_names_its_formats(capsys):
    assert main(["datasets", "select", "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "{text,json} how to print the result (default: text)" in shown and "{table" not in shown


def test_data_are_named_either_way(tmp_path, capsys):
    assert main(["datasets", "show", "--dataset", "sample"]) == 0
    first = capsys.readouterr().out
    assert main(["datasets", "show", "sample"]) == 0
    assert capsys.readouterr().out == first
    data = str(write_conqa(tmp_path / "data"))
    command = ["datasets", "export", "--data-dir", data, "--output"]
    assert main([*command, str(tmp_path / "a"), "--subset", "conqa,conqa-candidates"]) == 0
    assert main([*command, str(tmp_path / "b"), "conqa", "conqa-candidates"]) == 0
    assert (tmp_path / "a/README.md").read_bytes() == (tmp_path / "b/README.md").read_bytes()
    votes, out = tmp_path / "votes.csv", str(tmp_path / "built")
    votes.write_text(VOTES)
    assert main(["build", str(votes), "--output", out]) == 0
    assert load_dataset(out, split="train").num_rows == 6
    capsys.readouterr()
    for words in (["datasets", "show"], ["datasets", "show", "sample", "--dataset", "pqpp"]):
        assert main(words) == 2
        assert "--dataset" in capsys.readouterr().err
    other = tmp_path / "other.csv"
    other.write_text(VOTES.replace(",ann,", ",bob,"))
    assert main(["build", str(votes), "--judgments", str(other), "--output", out]) == 0
    assert "annotators: 2 of 2" in capsys.readouterr().out


def test_select_takes_file(tmp_path, capsys):
    pytest.importorskip("faiss")
    (tmp_path / "captions.txt").write_text("".join(f"caption {n}\n" for n in range(6)))
    np.save(tmp_path / "e.npy", np.array([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]]))
    command = ["datasets", "select", "--file", str(tmp_path / "captions.txt"), "--count", "2"]
    assert main([*command, "--embeddings", str(tmp_path / "e.npy")]) == 0
    assert capsys.readouterr().out == "caption 1\ncaption 4\n"


def test_select_without_faiss_names_the_remedy(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)  # as where it is not installed
    (tmp_path / "captions.txt").write_text("a\nb\n")
    command = [
        "datasets",
        "select",
        str(tmp_path / "captions.txt"),
        "--count",
        "1",
        "--encoder",
        "x",
    ]
    assert main(command) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "selecting needs faiss; run: pip install" in line


def test_rules_of_build_are_those_of_its_options():
    from pqpp_cli.build import Build
    from pqpp_datasets.own_benchmark import BuildOptions

    given = Build(output="nowhere")._given(BuildOptions)
    assert BuildOptions(**given) == BuildOptions()


def test_show_says_rows_and_images_and_shows_rows(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("pqpp_hub.pull.is_offline", lambda: True)
    data = str(write_v1_1(tmp_path / "data"))
    assert main(["datasets", "show", "pqpp", "--data-dir", data]) == 0
    shown = capsys.readouterr().out
    assert "33.5 GB" in shown and "sharepoint.com" in shown and "image_4.png" in shown
    assert "licence: CC BY 4.0 (cc-by-4.0)" in shown and "pinned at the first download" in shown
    assert "pqpp             validation  2,040" in shown and "glide_hbpp  float64  " in shown
    first = load_dataset("pqpp", data_dir=data, split="train")[0]
    assert f"prompt_id   string   {first['prompt_id']}" in shown and "row 3" in shown
    # Offline it tells what the package knows, and why no row is shown.
    assert main(["datasets", "show", "conqa"]) == 0
    shown = capsys.readouterr().out
    assert "conceptual   50" in shown and "files: 3, 222,619 bytes, verified by SHA-256" in shown
    assert "\nno row to show: " in shown and "offline mode is on" in shown and "row 1" not in shown


def test_show_of_a_folder(tmp_path, capsys):
    folder = str(tmp_path / "out")
    data = str(write_conqa(tmp_path / "data"))
    words = ["conqa", "conqa-candidates", "--data-dir", data, "--output", folder]
    assert main(["datasets", "export", *words]) == 0
    capsys.readouterr()
    assert main(["datasets", "show", folder]) == 0
    shown = capsys.readouterr().out
    assert "licence: cc-by-4.0\n" in shown and "conqa-candidates  candidates" in shown
    assert "query_id" in shown and "row 1" in shown
    assert main(["datasets", "show", folder, "--subset", "conqa-candidates"]) == 0
    shown = capsys.readouterr().out
    assert "query_id" not in shown and "image_id  int64" in shown
    assert main(["datasets", "show", folder, "--subset", "nope"]) == 2
    assert "no subset 'nope'; there are conqa, conqa-candidates" in capsys.readouterr().err
    (tmp_path / "out/data/conqa/conceptual-00000-of-00001.parquet").write_bytes(b"PAR1")
    assert main(["datasets", "show", folder]) == 2
    assert "not Parquet, or damaged" in capsys.readouterr().err
    assert main(["datasets", "show", str(tmp_path)]) == 2
    assert "no dataset is described here" in capsys.readouterr().err


PAGE = Path(__file__).parents[2] / "docs" / "own_benchmark_data.md"
COMMANDS = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("pqpp build ")]
ROWS = {"gimbrr": 2102, "tia2": 300, "tia2_counting": 150, "genai": 527, "genai_lists": 527}
ROWS |= {"agiqa": 300, "agiqa_table": 300}


@pytest.mark.parametrize("line", COMMANDS, ids=list(ROWS))
def test_commands_of_the_page_on_votes(real_data, tmp_path, monkeypatch, capsys, line):
    monkeypatch.chdir(tmp_path)
    words = shlex.split(line.replace("$DATA", str(real_data)))[1:]
    name = words[words.index("--output") + 1]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "written: " in said and said.startswith(("labels: ", "annotators: "))
    splits = [
        *Path(name, "data").glob("t*.parquet"),
        *Path(name, "data").glob("validation*.parquet"),
    ]
    assert sum(pq.read_metadata(one).num_rows for one in splits) == ROWS[name.removeprefix("my_")]


def test_the_page_on_votes_names_every_option_and_role():
    from pqpp_datasets.own_benchmark.options import ROLES

    text = PAGE.read_text("utf-8")
    assert [role for role in ROLES if f"`{role}`" not in text] == []
    assert len(COMMANDS) == 7


PEOPLE = ("ann", "bob", "cy", "dora", "eve", "fay", "gus", "hal")


def test_a_key_gives_the_same_bytes_and_none_others(tmp_path, capsys):
    rows = [
        f"caption {n},{n}.png,sdxl,{a},{(n + len(a) + ord(a[0])) % 4 - 1},mscoco\n"
        for n in range(10)
        for a in PEOPLE
    ]
    votes = tmp_path / "votes.csv"
    votes.write_text("prompt,image,model,annotator,label,source\n" + "".join(rows))
    (tmp_path / "key").write_bytes(bytes(range(32)))
    (tmp_path / "other").write_bytes(bytes(32))

    def built(name, *more):
        assert main(["build", str(votes), "--output", str(tmp_path / name), *more]) == 0
        return {
            path.relative_to(tmp_path / name): path.read_bytes()
            for path in (tmp_path / name).rglob("*")
            if path.is_file()
        }

    by_key = ("--pseudonym-key", str(tmp_path / "key"))
    first = built("a", *by_key)
    assert "random numbers" not in capsys.readouterr().err
    assert built("b", *by_key) == first
    assert built("c", "--pseudonym-key", str(tmp_path / "other")) != first
    assert len({tuple(built(f"d{n}").values()) for n in range(4)}) > 1
    assert "annotators got random numbers" in capsys.readouterr().err
    names = load_dataset(str(tmp_path / "a"), "votes", split="train")["annotator"]
    assert {*names} == {*range(1, 9)}
    (tmp_path / "key").write_bytes(b"short")
    assert main(["build", str(votes), "--output", str(tmp_path / "e"), *by_key]) == 2
    assert "5 bytes, 16 are the fewest" in capsys.readouterr().err
