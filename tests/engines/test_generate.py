"""Images for prompts: the same in any job, there whole or not at all, and never mixed."""

import hashlib
import json
import shutil
import signal
import subprocess
import sys
import time

import pytest
from PIL import Image
from support.draw import COMMAND
from support.processes import lives

from pqpp_backbones.errors import ModelError
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

PROMPTS = [{"prompt_id": f"p-{n}", "prompt": text} for n, text in enumerate(
    ("a red cat on a mat", "a blue dog", "two green birds", "three boats"))]  # fmt: skip


class Drawn(Generator):
    """A colour a seed; its first answer of some is flagged."""

    name, settings = "drawn", {"steps": 1}

    def generate(self, wanted):
        colours = [(one.seed % 251, len(one.prompt), 0) for one in wanted]
        return [GeneratedImage(Image.new("RGB", (8, 8), one), one[0] % 2 == 0) for one in colours]


def contents(folder):
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*.*")}


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory):
    pytest.importorskip("diffusers")
    from support.tiny_rahf import diffusion_xl

    folder = tmp_path_factory.mktemp("pipeline") / "tiny-xl"
    diffusion_xl().save_pretrained(folder)
    return folder


def tiny(pipeline, **options):
    return DiffusersGenerator(
        str(pipeline), num_inference_steps=2, height=32, width=32, device="cpu", **options
    )


def test_a_pipeline_makes_the_same_images_in_any_job(pipeline, tmp_path):
    made = generate(tiny(pipeline), PROMPTS, tmp_path / "one", 2)
    assert (made.made, made.skipped) == (8, 0)
    for part in (PROMPTS[1:], PROMPTS):
        generate(tiny(pipeline), part, tmp_path / "two", 2)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    told = json.loads((tmp_path / "one/images/p-1/tiny-xl_1.json").read_text())
    assert told["seed"] == derive_seed("p-1", "tiny-xl", 1) and told["num_inference_steps"] == 2
    image = (tmp_path / "one/images/p-1/tiny-xl_1.png").read_bytes()
    assert told["sha256"] == hashlib.sha256(image).hexdigest()
    assert told["model_id"] == "tiny-xl" and str(tmp_path) not in json.dumps(told)
    assert len({one for name, one in contents(tmp_path / "one").items() if ".png" in name}) == 8


def test_what_is_there_is_not_made_again_and_a_rerun_adds(tmp_path):
    assert generate(Drawn(), PROMPTS, tmp_path, 1).made == 4
    before = contents(tmp_path)
    (tmp_path / "images/p-2/drawn_0.png").unlink()
    again = generate(Drawn(), PROMPTS, tmp_path, 1)
    assert (again.made, again.skipped) == (1, 3) and contents(tmp_path) == before
    assert generate(Drawn(), PROMPTS, tmp_path, 3).made == 8
    lines = (tmp_path / "images/metadata.jsonl").read_text().splitlines()
    assert len(lines) == 12 and json.loads(lines[0])["file_name"] == "p-0/drawn_0.png"


def test_flags_are_kept_and_blank_prompts_have_no_image(tmp_path):
    made = generate(Drawn(), [*PROMPTS, {"prompt_id": "b", "prompt": " "}], tmp_path, 5)
    told = [json.loads(p.read_text())["flagged"] for p in tmp_path.rglob("*.json")]
    assert made.blank == 1 and made.flagged == sum(told) > 0
    assert not (tmp_path / "images/b").exists()


def test_a_folder_does_not_mix_settings_or_prompts(tmp_path):
    generate(Drawn(), PROMPTS, tmp_path, 1)
    other = Drawn()
    other.settings = {"steps": 9}
    with pytest.raises(EngineError, match="steps 1, not 9"):
        generate(other, PROMPTS, tmp_path, 2)
    changed = [{**PROMPTS[0], "prompt": "another"}]
    with pytest.raises(EngineError, match="prompt"):
        generate(Drawn(), changed, tmp_path, 2)


def test_two_runs_at_one_time_do_not_mix(tmp_path):
    class Slower(Drawn):
        def generate(self, wanted):
            generate(Drawn(), [{**PROMPTS[0], "prompt": "another"}], tmp_path, 1)
            return super().generate(wanted)

    with pytest.raises(EngineError, match="was made with prompt 'another'"):
        generate(Slower(), PROMPTS[:1], tmp_path, 1)


@pytest.mark.parametrize("prompt_id", ["../x", "a/b", ".hidden", ""])
def test_ids_that_lead_out_of_the_folder_are_refused(prompt_id, tmp_path):
    with pytest.raises(EngineError, match="is not a valid folder name"):
        generate(Drawn(), [{"prompt_id": prompt_id, "prompt": "a"}], tmp_path)


@pytest.mark.parametrize("program", ["/no/such", f'{sys.executable} -c "raise SystemExit(3)"'])
def test_commands_that_fail(program, tmp_path):
    command = f"{program} {{prompt}} {{output}}"
    with pytest.raises(EngineError):
        generate(CommandGenerator(command, "x"), PROMPTS[:1], tmp_path)
    assert not list(tmp_path.rglob("*.png"))


@pytest.mark.parametrize("prompt", ["a\0cat", "a cat " * 50_000], ids=["NUL", "long"])
def test_a_prompt_that_no_command_takes_is_refused_alone(prompt):
    request = ImageRequest("p", "a {seed} {output}", 0, 7)
    (made,) = CommandGenerator(COMMAND, "x").generate([request])
    assert made.image.getpixel((0, 0)) == (7, 0, len("a {seed} {output}"))  # as it came
    with pytest.raises(EngineError) as caught:
        CommandGenerator(COMMAND, "x").generate([ImageRequest("p", prompt, 0, 7)])
    assert caught.value.refuses_image


def test_a_prompt_is_never_run_as_a_command(tmp_path):
    hostile = [{"prompt_id": "h", "prompt": f'"; touch {tmp_path}/owned; echo "$(id)'}]
    generate(CommandGenerator(COMMAND, "drawn"), hostile, tmp_path / "out", 1)
    assert not (tmp_path / "owned").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a killed process tells nobody")
@pytest.mark.parametrize(
    "number",
    [
        signal.SIGKILL,
        *(pytest.param(one, marks=pytest.mark.daily) for one in (signal.SIGTERM, signal.SIGINT)),
    ],
)
def test_nothing_of_two_commands_lives_on_when_they_are_killed(number, tmp_path):
    (tmp_path / "p.csv").write_text("prompt_id,prompt\n0,a\n")
    slow = tmp_path / "slow.py"
    slow.write_text("import os, sys, time; open(f'{os.getpid()}.pid', 'w'); time.sleep(600)")
    words = ["generate", "--command", f"{sys.executable} {slow} {{prompt}} {{output}}", "--file",
             "p.csv", "--images-per-prompt", "1", "--output", "made", "--model-name"]  # fmt: skip
    line = [sys.executable, "-m", "pqpp_cli.main", *words]
    started = [
        subprocess.Popen([*line, name], cwd=tmp_path, stderr=subprocess.PIPE) for name in "ab"
    ]
    until = time.monotonic() + 300
    while len(list(tmp_path.glob("*.pid"))) < 2 and time.monotonic() < until:
        time.sleep(0.02)
    for process in started:
        process.send_signal(number)
        process.wait(300)
    numbers = [int(path.stem) for path in tmp_path.glob("*.pid")]
    while any(map(lives, numbers)) and time.monotonic() < until:
        time.sleep(0.02)
    assert len(numbers) == 2 and not any(map(lives, numbers))
    assert all(process.stderr.read().count(b"\n") <= 1 for process in started)
    assert not list((tmp_path / "made").rglob("*.png"))


def test_shares_of_a_launcher_are_those_of_shards_with_and_without_options(tmp_path, monkeypatch):
    texts = [f"a photo of {n} dogs" for n in range(20)]
    (tmp_path / "p.txt").write_text("\n".join(texts))
    (tmp_path / "p.csv").write_text("prompt\n" + "\n".join(texts))
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    made = []
    for file, options in (("p.txt", []), ("p.csv", []), ("p.csv", ["--shard-size", "8"])):
        out = tmp_path / str(len(made))
        words = ["generate", "--command", COMMAND, "--model-name", "drawn", "--images-per-prompt",
                 "1", "--file", str(tmp_path / file), "--output", str(out), *options]  # fmt: skip
        assert main(words) == 0
        made.append(sorted(int(one.parent.name) for one in out.rglob("*.png")))
    assert made == [list(range(8, 16))] * 3


def test_options_are_those_of_diffusers_and_what_is_used_is_told(pipeline, tmp_path):
    import diffusers
    import numpy as np
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
    made = Image.open(tmp_path / "out/images/p/tiny-xl_0.png")
    assert (np.asarray(made) == np.asarray(expected)).all()
    told = json.loads((tmp_path / "out/images/p/tiny-xl_0.json").read_text())
    assert told["guidance_scale"] == 5.0  # SDXL's own
    assert (told["height"], told["width"]) == made.size[::-1]
    assert told["scheduler"] == "DPMSolverMultistepScheduler"
    assert told["pipeline.guidance_rescale"] == 0.7 and told["scheduler.use_karras_sigmas"] is True
    for more in ({"scheduler": "NoScheduler"}, {"more": {"pipeline.colour": 1}}):
        with pytest.raises(EngineError):
            tiny(pipeline, **more)


def test_a_dropped_encoder_is_not_loaded_and_one_that_was_not_saved_is_not_missed(tmp_path):
    pytest.importorskip("diffusers")
    from support.tiny_rahf import diffusion_3

    pipe = diffusion_3()
    pipe.save_pretrained(tmp_path / "whole")
    pipe.register_modules(text_encoder_3=None, tokenizer_3=None)
    pipe.save_pretrained(tmp_path / "without")
    dropped = ("text_encoder_3", "tokenizer_3")
    images = []
    for folder, parts in (("whole", dropped), ("without", ())):
        generator = tiny(tmp_path / folder, dropped=parts, name="sd3")
        assert generator.pipeline.text_encoder_3 is None
        (made,) = generator.generate([ImageRequest("p", "a red cat", 0, 7)])
        images.append(made.image.tobytes())
    assert images[0] == images[1] and generator.settings["guidance_scale"] == 7.0


def test_lora_weights_change_images_by_their_scale(pipeline, tmp_path):
    peft = pytest.importorskip("peft")
    from peft.utils import get_peft_model_state_dict

    plain = tiny(pipeline)
    unet = tiny(pipeline).pipeline.unet
    unet.add_adapter(peft.LoraConfig(r=2, target_modules=["to_q"], init_lora_weights="gaussian"))
    weights = {name: value + 1 for name, value in get_peft_model_state_dict(unet).items()}
    type(plain.pipeline).save_lora_weights(tmp_path / "lora", unet_lora_layers=weights)
    wanted = [ImageRequest("p", "a red cat", 0, 7)]

    def image(generator):
        return generator.generate(wanted)[0].image.tobytes()

    none = tiny(pipeline, lora=str(tmp_path / "lora"), lora_scale=0.0)
    full = tiny(pipeline, lora=str(tmp_path / "lora"))
    assert image(none) == image(plain) != image(full)
    assert full.settings["lora"].startswith("lora sha256:") and full.settings["lora_scale"] == 1.0
    with pytest.raises(ModelError, match="has no usable LoRA"):
        tiny(pipeline, lora=str(pipeline))


def test_a_pipeline_of_its_own_class_makes_images_and_one_without_a_prompt_is_refused(tmp_path):
    diffusers = pytest.importorskip("diffusers")
    from support.tiny_rahf import diffusion

    parts = {**diffusion().components, "requires_safety_checker": False}
    del parts["image_encoder"]
    diffusers.SemanticStableDiffusionPipeline(**parts).save_pretrained(tmp_path / "own")
    maker = tiny(tmp_path / "own")  # `AutoPipelineForText2Image` knows none for it
    assert type(maker.pipeline).__name__ == "SemanticStableDiffusionPipeline"
    (made,) = maker.generate([ImageRequest("p", "a red cat", 0, 7)])
    assert made.image.size == (32, 32)
    unasked = diffusers.DDPMPipeline(parts["unet"], diffusers.DDPMScheduler())
    unasked.save_pretrained(tmp_path / "unasked")
    with pytest.raises(ModelError, match="DDPMPipeline accepts no prompt"):
        tiny(tmp_path / "unasked")


def test_a_pipeline_of_the_hub_is_checked_as_a_folder_is(pipeline, tmp_path, monkeypatch):
    folder = shutil.copytree(pipeline, tmp_path / "x")
    monkeypatch.setattr("diffusers.DiffusionPipeline.download", lambda *_, **__: str(folder))
    index = json.loads((folder / "model_index.json").read_text())
    for change in ({"vae": ["antigravity", "X"]}, {"_class_name": "KandinskyCombinedPipeline"}):
        (folder / "model_index.json").write_text(json.dumps(index | change))
        with pytest.raises(ModelError, match="refers to other repositories"):
            DiffusersGenerator("me/mine", device="cpu")
    (folder / "vae/diffusers.py").touch()
    with pytest.raises(ModelError, match="is code or a nested pipeline"):
        DiffusersGenerator("me/mine", device="cpu")


def test_an_image_of_one_colour_is_refused_unless_a_checker_made_it_so(pipeline, tmp_path):
    import torch

    maker = tiny(pipeline)
    with torch.no_grad():
        maker.pipeline.vae.decoder.conv_out.bias.fill_(float("nan"))
    made = generate(maker, PROMPTS[:1], tmp_path, 1)
    assert (made.made, made.refused) == (0, 1) and "NaN" in made.last_refusal
    assert not list(tmp_path.rglob("*.png"))
