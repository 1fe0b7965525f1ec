"""One loop: prompts, predictions, images, verdicts, ratings, a benchmark, a predictor, a router.

python docs/one_loop.py work                      # a random pipeline of a few kilobytes, on a CPU
python docs/one_loop.py work --model SDXL         # on a GPU

The annotators are simulated (`pqpp_annotation.demo`); with real ones, serve the study instead.
"""

import argparse
import contextlib
import json
import time
from pathlib import Path

from pqpp_cli.main import main

THINGS = (
    "a dog", "two cats", "a red bear", "a bench left of a clock", "seven kites", "a train",
    "three horses and a boat", "a pizza without cheese", "a sign that says STOP", "a man",
)  # fmt: skip
PLACES = ("on a beach", "in the snow", "", "near a bridge under a cloudy sky", "in a kitchen")


def run(*words: str) -> None:
    """Run a command of `pqpp`, and stop if it fails."""
    started = time.perf_counter()
    print("$ pqpp", *words)
    if main([str(word) for word in words]):
        raise SystemExit(2)
    print(f"  {time.perf_counter() - started:.1f} s\n")


def write_prompts(path: Path) -> None:
    """Write fifty prompts."""
    texts = [f"{thing} {place}".strip() for thing in THINGS for place in PLACES]
    rows = [f"p{number},{text}" for number, text in enumerate(texts)]
    path.write_text("\n".join(["prompt_id,prompt", *rows]) + "\n", "utf-8")


def make_pipeline(folder: Path) -> Path:
    """Save a random Stable Diffusion pipeline of a few kilobytes, for images of 64 x 64."""
    import diffusers
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import CLIPTextConfig, CLIPTextModel, PreTrainedTokenizerFast

    torch.manual_seed(0)
    marks = {"[PAD]": 0, "[UNK]": 1, "[END]": 2}
    letters = {letter: 3 + n for n, letter in enumerate("abcdefghijklmnopqrstuvwxyz ")}
    plain = Tokenizer(models.WordLevel({**marks, **letters}, unk_token="[UNK]"))
    plain.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=plain, pad_token="[PAD]", unk_token="[UNK]", eos_token="[END]",
        model_max_length=32,
    )  # fmt: skip
    text = CLIPTextConfig(
        vocab_size=32, hidden_size=16, intermediate_size=32, num_hidden_layers=1,
        num_attention_heads=2, max_position_embeddings=32, eos_token_id=2, pad_token_id=0,
    )  # fmt: skip
    blocks = {"block_out_channels": (8, 16), "layers_per_block": 1, "norm_num_groups": 4}
    pipe = diffusers.StableDiffusionPipeline(
        vae=diffusers.AutoencoderKL(
            latent_channels=4, down_block_types=["DownEncoderBlock2D"] * 2,
            up_block_types=["UpDecoderBlock2D"] * 2, **blocks,
        ),
        text_encoder=CLIPTextModel(text),
        tokenizer=tokenizer,
        unet=diffusers.UNet2DConditionModel(
            sample_size=32, attention_head_dim=4, cross_attention_dim=16,
            down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
            up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"), **blocks,
        ),
        scheduler=diffusers.DDIMScheduler(clip_sample=False, steps_offset=1),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )  # fmt: skip
    pipe.save_pretrained(folder)
    return folder


def make_study(work: Path) -> None:
    """Create a study of the generated images."""
    lines = (work / "made/images/metadata.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    table = ["prompt_id,prompt,image,model"]
    table += [f"{r['prompt_id']},{r['prompt']},{r['file_name']},{r['model']}" for r in rows]
    (work / "images.csv").write_text("\n".join(table) + "\n", "utf-8")
    run("annotate", "init", work / "study.yaml", "--file", work / "images.csv",
        "--image-dir", work / "made/images", "--kind", "rating")  # fmt: skip


def simulate_study(work: Path) -> None:
    """Let four simulated annotators rate everything.

    Their ratings follow the predictions, and are higher for the finer model.
    """
    from pqpp_annotation.demo import Persona, simulate_answers
    from pqpp_annotation.store.database import open_store
    from pqpp_annotation.study.study import read_study
    from pqpp_files.read_table import read_table

    table = read_table(work / "predicted.csv")
    predicted = dict(zip(table["prompt_id"], table.numbers("alignment"), strict=True))
    lines = (work / "made/images/metadata.jsonl").read_text("utf-8").splitlines()
    truth = {}
    for row in map(json.loads, lines):
        value = 2 * predicted[row["prompt_id"]] - 0.5
        # On hard prompts, the finer model is better by more.
        truth[row["sha256"]] = min(max(value + 0.5 * (1 - value) * (row["model"] == "fine"), 0), 1)
    study = read_study(work / "study.yaml")
    people = [Persona(name) for name in ("anna", "boris", "chen", "dora")]
    with contextlib.closing(open_store(study)) as store:
        simulate_answers(store, people, truth)


def run_loop(work: Path, model: str | None) -> None:
    """Run all steps."""
    work.mkdir(parents=True, exist_ok=True)
    prompts = work / "prompts.csv"
    write_prompts(prompts)
    run("predict", "--file", prompts, "--output", work / "predicted.csv")
    pipeline = model or make_pipeline(work / "tiny")
    small = [] if model else ["--num-inference-steps", "2", "--height", "64", "--width", "64"]
    names = ("fast", "fine")
    for name in names:
        run("generate", "--model", pipeline, "--model-name", name, "--file", prompts,
            "--images-per-prompt", "1", "--output", work / "made", *small)  # fmt: skip
    run("assess", "vistar", "--only", "text_rendering", "--image-dir", work / "made",
        "--output", work / "verdicts.parquet", "--gallery", work / "gallery.html")  # fmt: skip
    make_study(work)
    simulate_study(work)
    run("annotate", "export", work / "study.yaml", "--output", work / "votes")
    run("build", work / "votes/judgments.csv", "--output", work / "mine", "--scale", "likert5")
    run("bench", "--dataset", work / "mine", "--predictors", "mean_word_length", "--split", "train")
    run("fit", work / "mine", "--output", work / "mine_predictor")
    run("route", "fit", "--targets", "fast_rating,fine_rating", "--cost", "1,4", "--share", "0.3",
        "--predictor", work / "mine_predictor", "--calibration", prompts,
        "--output", work / "router")  # fmt: skip
    run("route", "predict", work / "router", "a dog on a beach", "a clock near a bridge")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("work", type=Path, help="a folder for all that is made")
    parser.add_argument(
        "--model", help="SDXL or another pipeline of diffusers (default: a tiny one)"
    )
    arguments = parser.parse_args()
    run_loop(arguments.work, arguments.model)
