"""Reading files of image generators in their published formats."""

import json

import pytest
from PIL import Image, PngImagePlugin

from pqpp_files.errors import FileError
from pqpp_models.prompt_file import read_texts
from pqpp_models.prompt_rows import PromptSource, load_dataset_rows

PROMPTS = [f"a cat on {n} mats,\na dog" for n in range(100)]
LINES = [prompt.replace("\n", " ") for prompt in PROMPTS]
BLOCK = "{}\nNegative prompt: blurry, a sign\nSteps: 20, Sampler: Euler a, CFG scale: 7, Seed: 1\n"


def make_node(kind, **inputs):
    return {"class_type": kind, "inputs": inputs}


def make_graph(prompt):
    return {
        "3": make_node("KSampler", seed=1, positive=["8", 0], negative=["7", 0], model=["4", 0]),
        "4": make_node("CheckpointLoaderSimple", ckpt_name="sdxl.safetensors"),
        "6": make_node("CLIPTextEncode", text=["9", 0], clip=["4", 1]),
        "7": make_node("CLIPTextEncode", text="blurry", clip=["4", 1]),
        "8": make_node("ConditioningCombine", conditioning_1=["6", 0], conditioning_2=["7", 0]),
        "9": make_node("PrimitiveString", value=prompt),
    }


WORKFLOW = {  # as the editor saves it
    "nodes": [
        {"id": 1, "type": "BasicGuider", "inputs": [{"name": "conditioning", "link": 5}]},
        {"id": 2, "type": "FluxGuidance", "inputs": [{"name": "conditioning", "link": 6}],
         "widgets_values": [3.5]},
        {"id": 3, "type": "CLIPTextEncode", "inputs": [{"name": "clip", "link": None}],
         "widgets_values": ["a cat"]},
        {"id": 4, "type": "Note", "widgets_values": ["a note"]},
    ],
    "links": [[5, 2, 0, 1, 0, "CONDITIONING"], [6, 3, 0, 2, 0, "CONDITIONING"]],
}  # fmt: skip
FILES = {
    "blocks.txt": ("\n".join(map(BLOCK.format, PROMPTS)), LINES),
    "comfyui.json": (make_graph("a cat"), ["a cat"]),
    "mark.txt": ("\ufeff" + f"{BLOCK[3:]}{BLOCK}".replace("\n", "\r\n"), ["", "{}"]),
    "body.json": ({"client_id": "x", "prompt": make_graph("a cat")}, ["a cat"]),
    "saved.json": (WORKFLOW, ["a cat"]),
    "invokeai.json": ({"positive_prompt": "a cat", "negative_prompt": "x", "seed": 1}, ["a cat"]),
    "civitai.json": (
        {"items": [{"id": 1, "meta": {"prompt": one, "steps": 9}} for one in PROMPTS]
         + [{"id": 2, "meta": None}], "metadata": {"nextPage": None}},
        PROMPTS,
    ),
    "diffusiondb.json": (
        {f"{n}.png": {"p": one, "se": n, "c": 7.0, "st": 50, "sa": "k_lms"}
         for n, one in enumerate(PROMPTS)},
        PROMPTS,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_reads_generator_files(tmp_path, name):
    content, prompts = FILES[name]
    text = content if isinstance(content, str) else json.dumps(content)
    (tmp_path / name).write_text(text, newline="")
    assert read_texts(str(tmp_path / name)) == prompts


def test_keeps_other_columns(tmp_path):
    expected = {"civitai.json": ("steps", [9] * 100), "diffusiondb.json": ("se", [*range(100)])}
    for name, (column, cells) in expected.items():
        (tmp_path / name).write_text(json.dumps(FILES[name][0]))
        [(columns, prompts)] = PromptSource.from_file(str(tmp_path / name)).read_batches(True)
        assert columns[column] == cells and columns["prompt"] == prompts == PROMPTS


def test_mixed_cells_become_text(tmp_path):
    (path := tmp_path / "a.json").write_text('[{"prompt": "a", "n": 1}, {"prompt": "b", "n": "x"}]')
    assert load_dataset_rows(str(path))[0]["n"][:] == ["1", "x"]


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("parameters", BLOCK.format("a cat")),
        ("parameters", "a cat"),
        ("prompt", json.dumps(make_graph("a cat"))),
        ("invokeai_metadata", '{"positive_prompt": "a cat"}'),
    ],
)
def test_reads_prompt_from_image(tmp_path, key, text):
    path, info = tmp_path / "a.png", PngImagePlugin.PngInfo()
    info.add_text(key, text)
    Image.new("RGB", (8, 8)).save(path, pnginfo=info)
    assert read_texts(str(path)) == ["a cat"]
    Image.new("RGB", (8, 8)).save(path)
    with pytest.raises(FileError, match="has no prompt; use the image that its generator saved"):
        read_texts(str(path))


def test_reads_other_files_as_tables_or_lines(tmp_path):
    (tmp_path / "a.json").write_text('[{"prompt": "a cat"},\n{"prompt": "a d')
    with pytest.raises(FileError, match=r"a\.json, line 2: not JSON"):
        read_texts(str(tmp_path / "a.json"))
    (tmp_path / "a.txt").write_text(BLOCK.format("a cat") + "a bird\n")
    assert read_texts(str(tmp_path / "a.txt"))[-1] == "a bird"


def test_cyclic_graph_terminates(tmp_path):
    first, second = make_node("KSampler", positive=["2", 0]), make_node("A", a=["2", 0], b=["1", 0])
    (tmp_path / "a.json").write_text(json.dumps({"1": first, "2": second}))
    with pytest.raises(FileError, match="no column 'prompt'"):
        read_texts(str(tmp_path / "a.json"))


def test_rejects_damaged_graph(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps(WORKFLOW | {"links": [[1]]}))
    with pytest.raises(FileError, match=r"a\.json: a damaged file of .*; save the file again"):
        read_texts(str(tmp_path / "a.json"))
