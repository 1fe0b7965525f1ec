"""One command of each thing that an extra promises, in an empty environment that holds it alone."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from support.recipes import ROOT, copy_repository

COMMANDS = {
    "": [
        ["predict", "a cat", "--explain"],
        ["datasets", "show", "sample"],
        ["metrics", "compute", "rmse_qpp", "--predictions", "scores.csv:x", "--references",
         "scores.csv:y"],
        ["bench", "--dataset", "sample", "--split", "validation", "--predictors", "static"],
        ["build", "votes.csv", "--output", "mine"],
        ["fit", "scores.csv", "--targets", "x", "--output", "fitted"],
    ],
    "ego-networks": [["models", "list"]],
    "select": [["datasets", "select", "captions.txt", "--count", "2", "--embeddings", "e.npy"]],
    "plots": [
        ["bench", "routing", "--dataset", "sample", "--split", "validation", "--predictors",
         "static", "--targets", "glide_hbpp,sdxl_hbpp", "--plot", "curves.png"],
        ["bench", "--dataset", "sample", "--split", "validation", "--predictors", "static",
         "--report", "report.html"],
    ],
    "models": [
        ["predict", "a cat", "--predictor", "./bert"],
        ["bench", "--dataset", "sample", "--split", "validation", "--predictors", "./bert"],
    ],
    "demo": [["demo", "--serve", "--help"]],
    "annotate": [
        ["annotate", "init", "study.yaml", "--file", "prompts.csv", "--image-dir", "images"],
        ["annotate", "invite", "study.yaml"],
        ["annotate", "status", "study.yaml"],
        ["annotate", "export", "study.yaml", "--output", "exported"],
    ],
    "engines": [
        ["search", "build", "e.npy", "--output", "index"],
        ["search", "retrieve", "index", "--file", "queries.csv", "--queries", "q.npy",
         "--output", "run.trec"],
        *(["search", "build", "images/p0", "--model", name, "--output", f"index_{name[2:]}"]
          for name in ("./clip", "./siglip", "./blip2")),
        ["search", "retrieve", "index_blip2", "--file", "queries.csv", "--image-dir", "images/p0",
         "--output", "blip2.trec"],
        ["search", "embed", "--model", "./clip", "--file", "queries.csv", "--output", "embedded"],
        ["generate", "--model", "pipe_xl", "--file", "prompts.csv", "--images-per-prompt", "1",
         "--output", "made", "--device", "cpu", "--num-inference-steps", "2"],
        ["generate", "--model", "pipe", "--file", "prompts.csv", "--images-per-prompt", "1",
         "--output", "made", "--device", "cpu", "--num-inference-steps", "2"],
        ["rewrite", "a red cat", "--target", "mean_hbpp", "--candidates", "candidates.csv"],
        ["rewrite", "a red cat", "--target", "mean_hbpp", "--chat-model", "chat_text",
         "--max-calls", "50"],
        ["route", "fit", "--targets", "glide_hbpp,sdxl_hbpp", "--cost", "1,4", "--share", ".5",
         "--calibration", "scores.csv", "--output", "router"],
    ],
    "assess": [
        ["assess", "vistar", "--image-dir", "images", "--file", "prompts.csv", "--only",
         "text_rendering"],
        *(["assess", "gimbrr", "--image-dir", "images", "--file", "prompts.csv", "--detector",
           f"detectors/{kind}", "--clip", "clip", "--output", f"{kind}.parquet", "--device", "cpu"]
          for kind in ("detr", "rt_detr", "owlv2", "grounding_dino")),
        ["assess", "gallery", "detr.parquet", "--image-dir", "images", "--output", "page.html"],
        ["assess", "rahf", "--image-dir", "images", "--file", "prompts.csv", "--model", "rahf",
         "--output", "rahf.parquet", "--device", "cpu"],
    ],
}  # fmt: skip
"""The command lines of each extra alone; of the core by the empty name."""

CODE = {
    "richhf": "from pqpp_datasets.richhf import tfrecord as t; print(t._compute_masked_crc(b'a'))",
    "vistar": (
        "from pqpp_datasets.vistar.vistar import parse_prompt;print(parse_prompt('[GD|TR] a cat'))"
    ),
    "apps": "import diffusers",
    "excel": (
        "import openpyxl; book = openpyxl.Workbook(); book.active.append(['prompt']);"
        "book.active.append(['a cat']); book.save('cats.xlsx');"
        "from pqpp_files.read_table import read_table; print(read_table('cats.xlsx')['prompt'])"
    ),
    "chat": "from pqpp_backbones.chat.models import Endpoint; Endpoint('http://a.test/v1', 'm')",
    "ray": (
        "import pyarrow as pa; from pqpp_files.shards import cut_table, run_shards;"
        "shards = cut_table(pa.table({'prompt': ['a cat']}), 1);"
        "print(run_shards(lambda table: table, shards, 'copied', {}, engine='ray'))"
    ),
    "trackers": "import tensorboard, trackio, wandb",
    "postgresql": "import psycopg",
    # Is not imported: pip may bring one for CUDA beside a torch that has none.
    "processors": "import num2words; from importlib.metadata import files; files('torchvision')",
    "models": (
        "from pqpp_models import Predictor\n"
        "for name in ('clip_generation', 'clip_retrieval', 'correlation_cnn'):\n"
        "    print(Predictor.from_pretrained(f'older/{name}').render_card()[:40])"
    ),
    "assess": (
        "from PIL import Image\n"
        "from pqpp_backbones.chat.chat import Request\n"
        "from pqpp_backbones.chat.models import load_local_chat\n"
        "from pqpp_feedback.vistar.vision import ROLES, Vision\n"
        "vision = Vision({role: f'sight/{role}' for role in ROLES}, device='cpu')\n"
        "image = Image.open('images/p0/sdxl_0.png').convert('RGB')\n"
        "print([vision.get_model(role) for role in ROLES], vision.compare([image], ['a cat']))\n"
        "asked = Request('a cat?', image=image, max_tokens=4)\n"
        "print(load_local_chat('chat', device='cpu', images=True).ask(asked))"
    ),
}
"""What is run of an extra that adds to another, or has no command."""


def write_inputs(folder: Path) -> None:
    """Write what the commands read."""
    import numpy as np

    from support.drawn_texts import draw_text
    from support.tiny_chat import save_chat, save_text_chat
    from support.tiny_detectors import KINDS, save_detector
    from support.tiny_models import save_bert, save_blip2, save_clip, save_siglip
    from support.tiny_rahf import make_diffusion, make_diffusion_xl, make_feedback
    from support.tiny_vision import save_vision

    random = np.random.default_rng(0)
    (folder / "images" / "p0").mkdir(parents=True)
    image, text = draw_text(0)
    image.save(folder / "images" / "p0" / "sdxl_0.png")
    prompts = "prompt_id,prompt,image,model,objects\n"
    prompts += f'p0,"A sign: ""{text}""",p0/sdxl_0.png,sdxl,cat\n'
    (folder / "prompts.csv").write_text(prompts)
    (folder / "queries.csv").write_text("query_id,prompt\nq0,a cat\nq1,a dog\n")
    np.save(folder / "q.npy", random.normal(size=(2, 4)).astype(np.float32))
    np.save(folder / "e.npy", random.normal(size=(12, 4)).astype(np.float32))
    (folder / "candidates.csv").write_text("prompt,candidate\na red cat,a cat that is red\n")
    (folder / "captions.txt").write_text("".join(f"caption {n}\n" for n in range(12)))
    rows = [f"a cat number {n} on a table,{n / 40},{(n * 7 % 40) / 40}" for n in range(40)]
    (folder / "scores.csv").write_text("\n".join(["prompt,x,y", *rows]) + "\n")
    votes = [f"cat {n},{n}.png,sdxl,{a},{n % 4 - 1}" for n in range(10) for a in "xyz"]
    (folder / "votes.csv").write_text("\n".join(["prompt,image,model,annotator,label", *votes]))
    save_bert(folder / "bert", ["mean_hbpp"])  # its encoder is in the folder "encoder"
    save_clip(folder / "clip")
    save_siglip(folder / "siglip")
    save_blip2(folder / "blip2")
    save_text_chat(folder / "chat_text")
    save_chat(folder / "chat")
    for kind in KINDS:
        save_detector(folder / "detectors" / kind, kind)
    save_vision(folder / "sight")
    save_detector(folder / "sight" / "detector", "grounding_dino")  # as the usual one is
    make_feedback().save_pretrained(folder / "rahf")
    make_diffusion().save_pretrained(folder / "pipe")
    make_diffusion_xl().save_pretrained(folder / "pipe_xl")
    shutil.copytree(ROOT / "tests" / "models" / "checkpoints", folder / "older")


def build_wheel(folder: Path) -> Path:
    """Build the wheel that all environments install."""
    source = copy_repository(folder / "source")
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder), str(source)]
    subprocess.run(pip, check=True)
    shutil.rmtree(source)
    return next(folder.glob("pqpp-*.whl"))


def try_extra(extra: str, wheel: Path, inputs: Path, folder: Path) -> list:
    """Install an extra in an empty environment, run its lines, and return those that failed.

    Args:
        extra: Its name; the core's is empty.
        wheel: Of pqpp.
        prepared: What `write_inputs` wrote.
        folder: An empty folder for the environment.
    """
    work, venv = folder / "work", folder / "venv"
    shutil.copytree(inputs, work)
    try:
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        python = venv / "bin" / "python"
        requirement = f"pqpp[{extra}] @ {wheel.as_uri()}" if extra else str(wheel)
        pip = [python, "-m", "pip"]
        constraints = ["-c", str(ROOT / "constraints.txt")]
        _run(work, *pip, "install", "-q", *constraints, requirement).check_returncode()
        results = [(command, _run(work, python, *command)) for command in _get_commands(extra)]
        return [(command, result.stderr[-500:]) for command, result in results if result.returncode]
    finally:
        shutil.rmtree(venv, ignore_errors=True)


def _get_commands(extra: str) -> list[list[str]]:
    code = [["-c", CODE[extra]]] if extra in CODE else []
    return [["-m", "pqpp", *arguments] for arguments in COMMANDS.get(extra, [])] + code


def _run(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a line in the environment, which sees no checkout and asks no hub."""
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_DATASETS_CACHE": str(folder / "hf")}
    environment.pop("PYTHONPATH", None)
    command = [str(argument) for argument in arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
