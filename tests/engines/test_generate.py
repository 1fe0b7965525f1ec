"""`pqpp generate`: reproducible images, resumed jobs and refused inputs."""

import hashlib
import json
import shutil
import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image
from support.draw import COMMAND
from support.processes import is_running
from support.two_runs import delay_writes, run_at_once

from pqpp_backbones.chat.chat import Budget
from pqpp_backbones.errors import ModelError, ServiceError
from pqpp_cli.main import main
from pqpp_engines.errors import EngineError
from pqpp_engines.generate import (
    CommandGenerator,
    DiffusersGenerator,
    GeneratedImage,
    derive_seed,
    generate,
)
from pqpp_engines.generate.generators import Generator, ImageRequest
from pqpp_engines.generate.run import GenerationJob
from pqpp_files.shards import ShardStore

PROMPTS = [{"prompt_id": f"p-{n}", "prompt": text} for n, text in enumerate(
    ("a red cat on a mat", "a blue dog", "two green birds", "three boats"))]  # fmt: skip


class FakeGenerator(Generator):
    """Images whose colour is derived from the seed; even colours are flagged, some refused."""

    name, settings = "drawn", {"steps": 1}

    def generate(self, requests):
        if any("refuse" in r.prompt for r in requests):
            raise EngineError("it is refused", refuses_image=True)
        colours = [(r.seed % 251, len(r.prompt), 0) for r in requests]
        return [
            GeneratedImage(None, True, {"refused": "by a rule"}) if "rule" in r.prompt
            else GeneratedImage(Image.new("RGB", (8, 8), colour), colour[0] % 2 == 0)
            for r, colour in zip(requests, colours, strict=True)
        ]  # fmt: skip


def read_files(folder):
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*.*")}


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory):
    pytest.importorskip("diffusers")
    from support.tiny_rahf import make_diffusion_xl

    folder = tmp_path_factory.mktemp("pipeline") / "tiny-xl"
    make_diffusion_xl().save_pretrained(folder)
    return folder


def make_generator(pipeline, **options):
    return DiffusersGenerator(
        str(pipeline), num_inference_steps=2, height=32, width=32, device="cpu", **options
    )


def test_images_do_not_depend_on_job_order(pipeline, tmp_path):
    summary = generate(make_generator(pipeline), PROMPTS, tmp_path / "one", 2)
    assert (summary.made, summary.skipped) == (8, 0)
    for prompts in (PROMPTS[1:], PROMPTS):
        generate(make_generator(pipeline), prompts, tmp_path / "two", 2)
    assert read_files(tmp_path / "one") == read_files(tmp_path / "two")
    metadata = json.loads((tmp_path / "one/images/p-1/tiny-xl_1.json").read_text())
    assert metadata["seed"] == derive_seed("p-1", "tiny-xl", 1)
    assert metadata["num_inference_steps"] == 2
    image = (tmp_path / "one/images/p-1/tiny-xl_1.png").read_bytes()
    assert metadata["sha256"] == hashlib.sha256(image).hexdigest()
    assert metadata["model_id"] == "tiny-xl" and str(tmp_path) not in json.dumps(metadata)
    assert len({p.read_bytes() for p in tmp_path.glob("one/images/*/*.png")}) == 8


def test_skips_existing_images_and_adds_missing_ones(tmp_path):
    assert generate(FakeGenerator(), PROMPTS, tmp_path, 1).made == 4
    before = read_files(tmp_path)
    (tmp_path / "images/p-2/drawn_0.png").unlink()
    summary = generate(FakeGenerator(), PROMPTS, tmp_path, 1)
    assert (summary.made, summary.skipped) == (1, 3) and read_files(tmp_path) == before
    assert generate(FakeGenerator(), PROMPTS, tmp_path, 3).made == 8
    lines = (tmp_path / "images/metadata.jsonl").read_text().splitlines()
    assert len(lines) == 12 and json.loads(lines[0])["file_name"] == "p-0/drawn_0.png"


def test_shards_write_the_same_images(tmp_path):
    generate(FakeGenerator(), PROMPTS, tmp_path / "one", 2)
    job, table = GenerationJob(FakeGenerator, str(tmp_path / "two")), pa.Table.from_pylist(PROMPTS)
    results = job(table)
    assert generate(FakeGenerator(), PROMPTS, tmp_path / "two", 2).skipped == 8
    assert read_files(tmp_path / "one") == read_files(tmp_path / "two")
    assert job(table) == results
    for row in results.to_pylist():
        path = (tmp_path / "two/images" / row["file_name"]).with_suffix(".json")
        metadata = json.loads(path.read_text())
        assert row.pop("error") is None and row.pop("file_name")
        assert row == {name: metadata[name] for name in row}


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


def test_shard_beyond_the_budget_generates_no_image(tmp_path):
    generator, table = FakeGenerator(), pa.Table.from_pylist(PROMPTS)
    generator.budget = Budget(max_calls=3)
    job = GenerationJob(lambda: generator, str(tmp_path), 1)
    with pytest.raises(ServiceError):
        job(table)
    assert not list(tmp_path.rglob("*"))
    job(table[:2])
    assert job(table)["error"].null_count == 4  # two images were missing


def test_records_flags_and_skips_blank_prompts(tmp_path):
    summary = generate(FakeGenerator(), [*PROMPTS, {"prompt_id": 7, "prompt": " "}], tmp_path, 5)
    flags = [json.loads(p.read_text())["flagged"] for p in tmp_path.rglob("*.json")]
    assert summary.blank == 1 and summary.flagged == sum(flags) > 0
    assert not (tmp_path / "images/7").exists()


def test_rejects_folder_with_other_settings_or_prompts(tmp_path):
    generate(FakeGenerator(), PROMPTS, tmp_path, 1)
    other = FakeGenerator()
    other.settings = {"steps": 9}
    with pytest.raises(EngineError, match="steps 1, not 9"):
        generate(other, PROMPTS, tmp_path, 2)
    changed = [{**PROMPTS[0], "prompt": "another"}]
    with pytest.raises(EngineError, match="prompt"):
        generate(FakeGenerator(), changed, tmp_path, 2)
    (tmp_path / "images/metadata.jsonl").write_text('{"file_name": "a.png", "prompt": "a cat"}')
    with pytest.raises(EngineError, match="from another program"):
        generate(FakeGenerator(), PROMPTS, tmp_path, 1)


def test_concurrent_run_with_other_prompt_fails(tmp_path):
    class Slower(FakeGenerator):
        def generate(self, requests):
            generate(FakeGenerator(), [{**PROMPTS[0], "prompt": "another"}], tmp_path, 1)
            return super().generate(requests)

    with pytest.raises(EngineError, match="was made with prompt 'another'"):
        generate(Slower(), PROMPTS[:1], tmp_path, 1)


@pytest.mark.parametrize("prompt_id", ["../x", "a/b", ".hidden", ""])
def test_rejects_prompt_ids_that_are_no_folder_names(prompt_id, tmp_path):
    with pytest.raises(EngineError, match="is not a valid folder name"):
        generate(FakeGenerator(), [{"prompt_id": prompt_id, "prompt": "a"}], tmp_path)


@pytest.mark.parametrize("program", ["/no/such", f'{sys.executable} -c "raise SystemExit(3)"'])
def test_failing_command_writes_no_image(program, tmp_path):
    command = f"{program} {{prompt}} {{output}}"
    with pytest.raises(EngineError):
        generate(CommandGenerator(command, "x"), PROMPTS[:2], tmp_path)
    assert not list(tmp_path.rglob("*.png"))


def test_failed_images_do_not_end_the_run(tmp_path):
    refused = [{"prompt_id": f"r-{n}", "prompt": "refuse it"} for n in range(20)]
    for counts in ((4, 0), (0, 4)):
        summary = generate(FakeGenerator(), [*PROMPTS[:2], *refused], tmp_path, 2, batch_size=3)
        assert (summary.made, summary.skipped, summary.refused) == (*counts, 40)
    with pytest.raises(EngineError, match=r"no image for 8 prompts .it is refused"):
        generate(FakeGenerator(), refused, tmp_path)


@pytest.mark.parametrize("prompt", ["a\0cat", "a cat " * 50_000], ids=["NUL", "long"])
def test_command_refuses_only_the_invalid_prompt(prompt):
    request = ImageRequest("p", "a {seed} {output}", 0, 7)
    (generated,) = CommandGenerator(COMMAND, "x").generate([request])
    assert generated.image.getpixel((0, 0)) == (7, 0, len("a {seed} {output}"))  # verbatim
    with pytest.raises(EngineError) as caught:
        CommandGenerator(COMMAND, "x").generate([ImageRequest("p", prompt, 0, 7)])
    assert caught.value.refuses_image


def test_prompt_is_not_run_by_a_shell(tmp_path):
    hostile = [{"prompt_id": "h", "prompt": f'"; touch {tmp_path}/owned; echo "$(id)'}]
    generate(CommandGenerator(COMMAND, "drawn"), hostile, tmp_path / "out", 1)
    assert not (tmp_path / "owned").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends children of a killed process")
@pytest.mark.parametrize(
    "signal_number",
    [
        signal.SIGKILL,
        *(pytest.param(s, marks=pytest.mark.daily) for s in (signal.SIGTERM, signal.SIGINT)),
    ],
)
def test_killed_jobs_leave_no_child_processes(signal_number, tmp_path):
    (tmp_path / "p.csv").write_text("prompt_id,prompt\n0,a\n")
    slow = tmp_path / "slow.py"
    slow.write_text("import os, sys, time; open(f'{os.getpid()}.pid', 'w'); time.sleep(600)")
    words = ["generate", "--command", f"{sys.executable} {slow} {{prompt}} {{output}}", "--file",
             "p.csv", "--images-per-prompt", "1", "--output", "made", "--model-name"]  # fmt: skip
    line = [sys.executable, "-m", "pqpp_cli.main", *words]
    processes = [
        subprocess.Popen([*line, name], cwd=tmp_path, stderr=subprocess.PIPE) for name in "ab"
    ]
    deadline = time.monotonic() + 300
    while len(list(tmp_path.glob("*.pid"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    for process in processes:
        process.send_signal(signal_number)
        process.wait(300)
    process_ids = [int(path.stem) for path in tmp_path.glob("*.pid")]
    while any(map(is_running, process_ids)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert len(process_ids) == 2 and not any(map(is_running, process_ids))
    assert all(process.stderr.read().count(b"\n") <= 1 for process in processes)
    assert not list((tmp_path / "made").rglob("*.png"))


def test_launcher_ranks_generate_their_share_of_prompts(tmp_path, monkeypatch):
    texts = [f"a photo of {n} dogs" for n in range(20)]
    (tmp_path / "p.txt").write_text("\n".join(texts))
    (tmp_path / "p.csv").write_text("prompt\n" + "\n".join(texts))
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    indices = []
    for file, options in (("p.txt", []), ("p.csv", []), ("p.csv", ["--shard-size", "8"])):
        out = tmp_path / str(len(indices))
        words = ["generate", "--command", COMMAND, "--model-name", "drawn", "--images-per-prompt",
                 "1", "--file", str(tmp_path / file), "--output", str(out), *options]  # fmt: skip
        assert main(words) == 0
        indices.append(sorted(int(path.parent.name) for path in out.rglob("*.png")))
    assert indices == [list(range(8, 16))] * 3


def test_options_match_diffusers_and_are_recorded(pipeline, tmp_path):
    import diffusers
    import torch

    words = ["generate", "--model", str(pipeline), "--negative-prompt", "blurry", "--scheduler",
             "DPMSolverMultistepScheduler", "--set", "scheduler.use_karras_sigmas=true", "--set",
             "pipeline.guidance_rescale=0.7", "--images-per-prompt", "1"]  # fmt: skip
    (tmp_path / "p.csv").write_text("prompt_id,prompt\np,a red cat\n")
    words += ["--file", str(tmp_path / "p.csv"), "--device", "cpu", "--num-inference-steps", "3"]
    assert main([*words, "--output", str(tmp_path / "out")]) == 0
    pipe = diffusers.StableDiffusionXLPipeline.from_pretrained(pipeline)
    pipe.scheduler = diffusers.DPMSolverMultistepScheduler.from_config(
        pipe.scheduler.config, use_karras_sigmas=True
    )
    options = {"negative_prompt": "blurry", "guidance_rescale": 0.7, "num_inference_steps": 3}
    generator = torch.Generator("cpu").manual_seed(derive_seed("p", "tiny-xl", 0))
    expected = pipe("a red cat", generator=generator, **options).images[0]
    image = Image.open(tmp_path / "out/images/p/tiny-xl_0.png")
    assert (np.asarray(image) == np.asarray(expected)).all()
    metadata = json.loads((tmp_path / "out/images/p/tiny-xl_0.json").read_text())
    assert metadata["guidance_scale"] == 5.0  # SDXL's own
    assert (metadata["height"], metadata["width"]) == image.size[::-1]
    assert metadata["scheduler"] == "DPMSolverMultistepScheduler"
    assert metadata["pipeline.guidance_rescale"] == 0.7
    assert metadata["scheduler.use_karras_sigmas"] is True
    untiled = {"dropped": ["vae"], "vae_tiling": True}
    wrong = [{"more": {f"pipeline.{name}": 2}} for name in ("colour", "num_images_per_prompt")]
    for more in ({"scheduler": "NoScheduler"}, *wrong, untiled):
        with pytest.raises(EngineError):
            make_generator(pipeline, **more)


def test_loads_sd3_without_third_text_encoder(tmp_path):
    pytest.importorskip("diffusers")
    from support.tiny_rahf import make_diffusion_3

    pipe = make_diffusion_3()
    pipe.save_pretrained(tmp_path / "whole")
    pipe.register_modules(text_encoder_3=None, tokenizer_3=None)
    pipe.save_pretrained(tmp_path / "without")
    dropped = ("text_encoder_3", "tokenizer_3")
    images = []
    for folder, names in (("whole", dropped), ("without", ())):
        generator = make_generator(tmp_path / folder, dropped=names, name="sd3")
        assert generator.pipeline.text_encoder_3 is None
        (generated,) = generator.generate([ImageRequest("p", "a red cat", 0, 7)])
        images.append(generated.image.tobytes())
    assert images[0] == images[1] and generator.settings["guidance_scale"] == 7.0


def test_lora_scale_controls_its_effect(pipeline, tmp_path):
    peft = pytest.importorskip("peft")
    from peft.utils import get_peft_model_state_dict

    plain = make_generator(pipeline)
    unet = make_generator(pipeline).pipeline.unet
    unet.add_adapter(peft.LoraConfig(r=2, target_modules=["to_q"], init_lora_weights="gaussian"))
    weights = {name: value + 1 for name, value in get_peft_model_state_dict(unet).items()}
    type(plain.pipeline).save_lora_weights(tmp_path / "lora", unet_lora_layers=weights)
    requests = [ImageRequest("p", "a red cat", 0, 7)]

    def generate_bytes(generator):
        return generator.generate(requests)[0].image.tobytes()

    unscaled = make_generator(pipeline, lora=str(tmp_path / "lora"), lora_scale=0.0)
    scaled = make_generator(pipeline, lora=str(tmp_path / "lora"))
    assert generate_bytes(unscaled) == generate_bytes(plain) != generate_bytes(scaled)
    settings = scaled.settings
    assert settings["lora"].startswith("lora sha256:") and settings["lora_scale"] == 1.0
    with pytest.raises(ModelError, match="has no usable LoRA"):
        make_generator(pipeline, lora=str(pipeline))


def test_refuses_a_lora_of_another_shape_in_one_line(pipeline, tmp_path):
    pytest.importorskip("peft")
    from safetensors.numpy import save_file

    layer = "unet.mid_block.attentions.0.transformer_blocks.0.attn1.to_q.lora"
    (tmp_path / "lora").mkdir()
    weights = {f"{layer}.{part}.weight": np.ones((2, 2), np.float32) for part in ("down", "up")}
    save_file(weights, tmp_path / "lora" / "a.safetensors")
    (tmp_path / "p.csv").write_text("prompt_id,prompt\n0,a\n")
    words = ["generate", "--model", str(pipeline), "--lora", "lora", "--file", "p.csv"]
    line = [sys.executable, "-m", "pqpp_cli.main", *words, "--output", "made", "--device", "cpu"]
    ended = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == 2 and "lora has no usable LoRA" in ended.stderr
    assert ended.stderr.count("\n") == 1, ended.stderr


def test_loads_other_pipeline_classes_if_they_accept_prompts(tmp_path):
    diffusers = pytest.importorskip("diffusers")
    from support.tiny_rahf import make_diffusion

    parts = {**make_diffusion().components, "requires_safety_checker": False}
    del parts["image_encoder"]
    diffusers.SemanticStableDiffusionPipeline(**parts).save_pretrained(tmp_path / "own")
    generator = make_generator(tmp_path / "own")  # unknown to `AutoPipelineForText2Image`
    assert type(generator.pipeline).__name__ == "SemanticStableDiffusionPipeline"
    (generated,) = generator.generate([ImageRequest("p", "a red cat", 0, 7)])
    assert generated.image.size == (32, 32)
    unconditional = diffusers.DDPMPipeline(parts["unet"], diffusers.DDPMScheduler())
    unconditional.save_pretrained(tmp_path / "unasked")
    with pytest.raises(ModelError, match="DDPMPipeline accepts no prompt"):
        make_generator(tmp_path / "unasked")


def test_checks_pipelines_from_the_hub_like_folders(pipeline, tmp_path, monkeypatch):
    folder = shutil.copytree(pipeline, tmp_path / "x")
    monkeypatch.setattr("pqpp_engines.generate.pipeline.pull_files", lambda *_, **__: folder)
    index = json.loads((folder / "model_index.json").read_text())
    names = ("KandinskyCombinedPipeline", "KandinskyV22Pipeline", "StableCascadeDecoderPipeline")
    for change in ({"vae": ["antigravity", "X"]}, *({"_class_name": name} for name in names)):
        (folder / "model_index.json").write_text(json.dumps(index | change))
        with pytest.raises(ModelError, match="refers to other repositories"):
            DiffusersGenerator("me/mine", device="cpu")
    for part in ("OnnxRuntimeModel", "DiffusionPipeline"):
        (folder / "model_index.json").write_text(json.dumps(index | {"vae": ["diffusers", part]}))
        with pytest.raises(ModelError, match="a part of it is a pipeline or in ONNX"):
            DiffusersGenerator("me/mine", device="cpu")
    (folder / "model_index.json").write_text(json.dumps(index))
    monkeypatch.setattr("diffusers.DiffusionPipeline.download", lambda *_, **__: str(folder))
    (folder / "vae/diffusers.py").touch()
    with pytest.raises(ModelError, match="is code or a nested pipeline"):
        DiffusersGenerator("me/mine", device="cpu")


def test_refuses_image_of_a_single_colour(pipeline, tmp_path, monkeypatch):
    import torch

    generator = make_generator(pipeline)
    with torch.no_grad():
        generator.pipeline.vae.decoder.conv_out.bias.fill_(float("nan"))
    with pytest.raises(EngineError, match=r"no image for 1 prompt .*NaN"):
        generate(generator, PROMPTS[:1], tmp_path, 1)
    assert not list(tmp_path.rglob("*.png"))
    frames = SimpleNamespace(images=[[Image.new("RGB", (8, 8))]])  # as of Shap-E
    monkeypatch.setattr(generator, "pipeline", lambda *_, **__: frames)
    with pytest.raises(EngineError, match="returns no images"):
        generate(generator, PROMPTS[:1], tmp_path, 1)


def test_two_runs_do_not_mix_an_image_and_its_json(tmp_path, monkeypatch):
    """The images of an API differ from run to run."""
    both, delays = threading.Barrier(2, timeout=20), iter([0.5, 0])

    def get_delay(store, name, content):
        return next(delays) if name.endswith(".png") else 0

    def run(colour):
        generator = FakeGenerator()
        image = GeneratedImage(Image.new("RGB", (8, 8), (colour, 0, 0)), False)
        generator.generate = lambda requests: [image for _ in requests if both.wait() >= 0]
        generate(generator, PROMPTS[:1], tmp_path, 1)

    delay_writes(monkeypatch, ShardStore, "write", get_delay)
    run_at_once(run, 1, 2)
    (path,) = tmp_path.glob("images/*/*.png")
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    assert json.loads(path.with_suffix(".json").read_text())["sha256"] == sha256
