"""`pqpp generate` from shard to shard: the images of one run, refusals as rows."""

import json

import pyarrow as pa

from pqpp_engines.errors import EngineError
from pqpp_engines.generate import GeneratedImage, Generator, generate
from pqpp_engines.generate.run import GenerationJob


class Drawn(Generator):
    """A colour a seed; refuses prompts that ask for it."""

    name, settings = "drawn", {"steps": 1}

    def generate(self, wanted):
        from PIL import Image

        if any("refuse" in one.prompt for one in wanted):
            raise EngineError("it is refused", refuses_image=True)
        by_rule = {"refused": "by a rule"}
        return [
            GeneratedImage(None, True, by_rule) if "rule" in one.prompt
            else GeneratedImage(Image.new("RGB", (8, 8), (one.seed % 251, 0, 0)), False)
            for one in wanted
        ]  # fmt: skip


def contents(folder):
    found = {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*.*")}
    assert not any("pqpp-" in name for name in found)
    return found


def test_shards_hold_the_images_of_a_run_without(tmp_path):
    rows = [{"prompt_id": f"p{n}", "prompt": f"a photo of {n}"} for n in range(7)]
    generate(Drawn(), rows, tmp_path / "one", 2)
    found = GenerationJob(Drawn, str(tmp_path / "two"))(pa.Table.from_pylist(rows)).to_pylist()
    images = {
        name: one for name, one in contents(tmp_path / "one").items() if "metadata" not in name
    }
    assert contents(tmp_path / "two") == images
    for row in found:
        path = (tmp_path / "two/images" / row["file_name"]).with_suffix(".json")
        told = json.loads(path.read_text())
        assert row.pop("error") is None and row.pop("file_name")
        assert row == {name: told[name] for name in row}
    again = GenerationJob(Drawn, str(tmp_path / "two"))(pa.Table.from_pylist(rows))
    assert again["sha256"].to_pylist() == [row["sha256"] for row in found]


def test_what_is_refused_is_a_row_and_ends_nothing(tmp_path):
    texts = ["a cat", "refuse it", "a rule", " ", "a dog", "a cow"]
    table = pa.table({"prompt_id": ["a", "b", "c", "d", "../e", "a"], "prompt": texts})
    found = GenerationJob(Drawn, str(tmp_path), 1, batch_size=4)(table).to_pylist()
    assert [row["error"] for row in found] == [
        None,
        "it is refused",
        "by a rule",
        "the prompt is blank",
        "the prompt_id '../e' cannot be a folder name",
        "duplicate prompt_id a",
    ]
    assert [one.name for one in tmp_path.rglob("*.png")] == ["drawn_0.png"]
