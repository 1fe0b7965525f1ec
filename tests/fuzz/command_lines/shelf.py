"""Sound models and folders that take long to make: made once, copied by the cases."""

import contextlib
import importlib
import io
import pkgutil
import shutil
from pathlib import Path

import numpy as np
from support.tiny_models import REPOSITORY, save_clip, save_text_encoder

from pqpp_models.errors import MissingResourceError

_CHECKPOINTS = REPOSITORY / "tests" / "models" / "checkpoints"
_MADE = """
search build images --model search/clip --output search/index
search build e.npy --output search/vectors
search build e.npy --ids ids.txt --output search/other
route fit --targets glide_hbpp,sdxl_hbpp --cost 1,4 --share .5 --calibration p.txt --output router
assess rahf --image-dir images --model models/rahf --output rahf.parquet
assess gimbrr --image-dir images --file asked.csv --clip models/clip --detector models/detector
--output gimbrr.parquet
assess vistar --image-dir images --only text_rendering --output vistar.parquet
"""
_ASKED = """file_name,prompt_id,prompt,task,representations,task_specific_label
0.png,0,two cats,counting,"[""cat""]",[2]
1.png,1,a sign that says 'Hello',counting,"[""cat""]",[1]
"""


def fill(shelf: Path) -> None:
    """Put one of everything into a folder."""
    from PIL import Image
    from support.benchmark_folders import write_conqa, write_gimbrr, write_richhf, write_vistar
    from support.pqpp_folders import write_v1_0, write_v1_1
    from support.studies import small_study
    from support.tiny_chat import save_text_chat
    from support.tiny_eyes import save_detector
    from support.tiny_rahf import diffusion, tiny_feedback
    from support.tiny_sight import save_sight

    from pqpp_cli.main import main
    from pqpp_datasets.export.export import export
    from pqpp_hub.eval_results import BenchmarkTask, entry, results_file, results_text
    from pqpp_models import TARGETS
    from pqpp_models.predictor import Predictor
    from pqpp_models.text.collection.encoded import EncodedCaptions, encoder_of
    from pqpp_models.text.ridge.fitting import fit

    for one in _CHECKPOINTS.iterdir():
        if one.is_dir():
            shutil.copytree(one, shelf / "models" / one.name)
    random = np.random.default_rng(0)
    prompts = [
        f"a {'big ' * (n % 5)}{word} {n}" for n, word in enumerate(("cat", "dog", "sea") * 20)
    ]
    ridge = fit(prompts, random.random((60, len(TARGETS))), TARGETS, "made up")
    ridge.save_pretrained(shelf / "models" / "ridge")
    tiny_feedback().save_pretrained(shelf / "models" / "rahf")
    diffusion().save_pretrained(shelf / "models" / "pipe")
    for name, save in (
        ("encoder", save_text_encoder),
        ("clip", save_clip),
        ("detector", save_detector),
        ("chat", save_text_chat),
        ("sight", lambda folder: save_sight(folder, ("depth", "pose"))),
    ):
        save(shelf / "models" / name)
    ensemble = Predictor.from_pretrained(shelf / "models" / "text_ensemble")
    encoder, layers = encoder_of(ensemble)
    captions = EncodedCaptions.build(prompts, encoder, ensemble.tokenizer, layers)
    captions.save_pretrained(shelf / "models" / "collection")
    write_v1_0(shelf / "data" / "pqpp" / "v1.0")
    write_v1_1(shelf / "data" / "pqpp" / "v1.1")
    write_conqa(shelf / "data" / "conqa")
    write_gimbrr(shelf / "data" / "gimbrr")
    write_vistar(shelf / "data" / "vistar")
    write_richhf(shelf / "data" / "richhf")
    export(["sample"], shelf / "exported")
    results = shelf / "results" / "n_words" / results_file("owner/name")
    results.parent.mkdir(parents=True)
    told = entry(BenchmarkTask("sample", "test", "mean_rr"), "owner/name", 0.1, notes="n 80")
    results.write_text(results_text([told]))
    (shelf / "study").mkdir()
    small_study(shelf / "study")
    (shelf / "study" / "answers.csv").write_text("prompt_id,image,label\nq0,0-sdxl.png,2\n")
    (shelf / "images").mkdir()
    (shelf / "more").mkdir()
    for n in range(3):
        pixels = random.integers(0, 256, (20, 24, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(shelf / "images" / f"{n}.png")
        Image.fromarray(255 - pixels).save(shelf / "more" / f"{n + 3}.png")
    shutil.copytree(shelf / "models" / "clip", shelf / "search" / "clip")
    np.save(shelf / "e.npy", random.random((6, 8), dtype=np.float32))
    np.save(shelf / "more.npy", random.random((12, 8), dtype=np.float32))  # as many as `ids`
    (shelf / "ids.txt").write_text("".join(f"other-{n}\n" for n in range(6)))
    (shelf / "asked.csv").write_text(_ASKED)
    (shelf / "images" / "metadata.csv").write_text(_ASKED)
    (shelf / "p.txt").write_text("\n".join(prompts))
    import datasets

    rows = datasets.Dataset.from_dict({"prompt": prompts, "mean_hbpp": [n / 60 for n in range(60)]})
    rows.save_to_disk(shelf / "saved")
    with contextlib.chdir(shelf):
        for line in _MADE.replace("\n--", " --").strip().splitlines():
            with contextlib.redirect_stderr(io.StringIO()) as said:
                if main(line.split()):
                    raise RuntimeError(f"pqpp {line}: {said.getvalue()}")


def warm(kind: str) -> None:
    """Import what commands of a kind may import."""
    roots = ["pqpp_cli", "pqpp_datasets", "pqpp_files", "pqpp_hub"]
    names = ["datasets", "faiss", "jinja2", "matplotlib.pyplot", "nltk.corpus", "PIL.Image", "yaml"]
    names += ["pandas", "scipy.io", "scipy.stats", "safetensors.numpy", "tabulate", "threadpoolctl"]
    names += ["pqpp_models.bench.run", "pqpp_models.text.ridge.fitting", "pqpp_metrics.modules"]
    names += ["pqpp_backbones.training.publish", "pqpp_metrics.functional", "pqpp_metrics.hub"]
    if kind == "torch":
        roots += ["pqpp_feedback", "pqpp_models", "pqpp_engines"]
        names += ["onnx", "sklearn.manifold", "transformers.models.bert.modeling_bert"]
    else:
        roots += ["pqpp_annotation"]
    for root in map(importlib.import_module, roots):
        names += [one.name for one in pkgutil.walk_packages(root.__path__, f"{root.__name__}.")]
    for name in names:
        importlib.import_module(name)
    with contextlib.suppress(
        MissingResourceError
    ):  # where it is not there, nothing can be read ahead
        importlib.import_module("pqpp_models.measures.nltk_resources").wordnet()
