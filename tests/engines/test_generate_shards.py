"""`pqpp generate` by shards: the images of a single run, and refusals as rows."""

import json

import pyarrow as pa

from pqpp_engines.errors import EngineError
from pqpp_engines.generate import GeneratedImage, Generator, generate
from pqpp_engines.generate.run import GenerationJob


class FakeGenerator(Generator):
    """Images whose colour is derived from the seed; some prompts are refused."""

    name, settings = "drawn", {"steps": 1}

    def generate(self, requests):
        from PIL import Image

        if any("refuse" in r.prompt for r in requests):
            raise EngineError("it is refused", refuses_image=True)
        info = {"refused": "by a rule"}
        return [
            GeneratedImage(None, True, info) if "rule" in r.prompt
            else GeneratedImage(Image.new("RGB", (8, 8), (r.seed % 251, 0, 0)), False)
            for r in requests
        ]  # fmt: skip


def read_files(folder):
    files = {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*.*")}
    assert not any("pqpp-" in name for name in files)
    return files


def test_job_writes_the_same_images_as_generate(tmp_path):
    rows = [{"prompt_id": f"p{n}", "prompt": f"a photo of {n}"} for n in range(7)]
    generate(FakeGenerator(), rows, tmp_path / "one", 2)
    job, table = GenerationJob(FakeGenerator, str(tmp_path / "two")), pa.Table.from_pylist(rows)
    results = job(table).to_pylist()
    images = {
        name: one for name, one in read_files(tmp_path / "one").items() if "metadata" not in name
    }
    assert read_files(tmp_path / "two") == images
    for row in results:
        path = (tmp_path / "two/images" / row["file_name"]).with_suffix(".json")
        metadata = json.loads(path.read_text())
        assert row.pop("error") is None and row.pop("file_name")
        assert row == {name: metadata[name] for name in row}
    assert job(table)["sha256"].to_pylist() == [row["sha256"] for row in results]


def test_refused_prompts_are_rows_with_an_error(tmp_path):
    texts = ["a cat", "refuse it", "a rule", " ", "a dog", "a cow"]
    table = pa.table({"prompt_id": ["a", "b", "c", "d", "../e", "a"], "prompt": texts})
    rows = GenerationJob(FakeGenerator, str(tmp_path), 1, batch_size=4)(table).to_pylist()
    assert [row["error"] for row in rows] == [
        None,
        "it is refused",
        "by a rule",
        "the prompt is blank",
        "the prompt_id '../e' cannot be a folder name",
        "duplicate prompt_id a",
    ]
    assert [path.name for path in tmp_path.rglob("*.png")] == ["drawn_0.png"]
