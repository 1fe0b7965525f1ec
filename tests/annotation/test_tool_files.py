"""Label Studio's and Argilla's files of a study: built and made a study of, all is as it was."""

import json
import shlex
from collections import Counter

import pyarrow.parquet
import pytest
from sqlalchemy import select
from support.studies import do_all, small_study

from pqpp_annotation.demo import Simulated, simulate
from pqpp_annotation.errors import AnnotationError
from pqpp_annotation.export import export_study
from pqpp_annotation.store.database import open_store
from pqpp_annotation.store.people import add_person
from pqpp_annotation.store.tables import Item, ItemImage
from pqpp_annotation.study import read_study
from pqpp_cli.main import main

ALL = {"min_kappa": -1.0, "min_reference_share": 0.0}


def items(path):
    """What a study shows: prompt and images of each item."""
    store = open_store(read_study(path))
    with store.reading() as db:
        query = select(Item.prompt, ItemImage.image, ItemImage.model).join(ItemImage)
        found = Counter(tuple(row) for row in db.execute(query))
    store.close()
    return found


@pytest.mark.parametrize(
    ("kind", "tool"), [("relevance", "label-studio"), ("preference", "argilla")]
)
def test_there_and_back(tmp_path, kind, tool, monkeypatch, capsys):
    left_out = ["image_number", *(["seconds"] if tool == "argilla" else [])]  # it keeps no time
    store = open_store(small_study(tmp_path, kind, prompts=8, admission=ALL))
    simulate(store, [Simulated("ann"), Simulated("bob", noise=0.5), Simulated("cleo", noise=0.2)])
    monkeypatch.chdir(tmp_path)
    judged = {}
    for format in ("csv", tool):
        export_study(store, format, format)
        build = json.loads((tmp_path / format / "export.json").read_text())["build"]
        words = shlex.split(build)[1:-1]
        assert main([*words, f"built-{format}", "--keep-annotators"]) == 0
        built = tmp_path / f"built-{format}"
        judged[format] = {
            str(path.relative_to(built)): sorted(
                str({name: cell for name, cell in row.items() if name not in left_out})
                for row in pyarrow.parquet.read_table(path).to_pylist()
            )
            for path in built.rglob("*.parquet")
        }
    store.close()
    assert judged[tool] == judged["csv"] and len(judged["csv"]) > 2
    capsys.readouterr()
    words = ["annotate", "init", "again/study.yaml", "--file", f"{tool}/{tool}.json"]
    (tmp_path / "again").mkdir()
    assert main([*words, "--from", tool, "--image-dir", "images", "--kind", kind]) == 0
    assert items("again/study.yaml") == items("study.yaml")


def test_what_a_tool_has_no_form_for_is_told(tmp_path):
    store = open_store(small_study(tmp_path, "order", prompts=2))
    do_all(store, add_person(store, "ann").id)
    with pytest.raises(AnnotationError, match="argilla: no form for places, rankings"):
        export_study(store, tmp_path / "votes", "argilla")
    assert not (tmp_path / "votes").exists()
    store.close()
