"""Sound models and folders that take long to make: made once, copied by the cases."""

import importlib
import pkgutil
import shutil
from pathlib import Path

import numpy as np
from support.tiny_models import REPOSITORY, load_script, save_text_encoder

from fuzz.command_lines.words import TRAINERS

_CHECKPOINTS = REPOSITORY / "tests" / "models" / "older_checkpoints"


def fill(shelf: Path) -> None:
    """Put one of everything into a folder."""
    from support.benchmark_folders import write_conqa, write_gimbrr, write_richhf, write_vistar
    from support.pqpp_folders import write_v1_0, write_v1_1
    from support.tiny_rahf import tiny_feedback

    from pqpp_datasets.export.export import export
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
    save_text_encoder(shelf / "models" / "encoder")
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
    import datasets

    rows = datasets.Dataset.from_dict({"prompt": prompts, "mean_hbpp": [n / 60 for n in range(60)]})
    rows.save_to_disk(shelf / "saved")


def warm(kind: str) -> dict:
    """Import what commands of a kind may import, and return the training scripts, by name."""
    roots = ["pqpp_cli", "pqpp_datasets", "pqpp_files", "pqpp_hub"]
    names = ["datasets", "faiss", "jinja2", "matplotlib.pyplot", "nltk.corpus", "PIL.Image", "yaml"]
    names += ["pandas", "scipy.io", "scipy.stats", "safetensors.numpy", "tabulate", "threadpoolctl"]
    names += ["pqpp_models.bench.run", "pqpp_models.text.ridge.fitting", "pqpp_metrics.modules"]
    names += ["pqpp_models.training.publish", "pqpp_metrics.functional", "pqpp_metrics.hub"]
    if kind == "torch":
        roots += ["pqpp_feedback", "pqpp_models"]
        names += ["onnx", "sklearn.manifold", "transformers.models.bert.modeling_bert"]
    for root in map(importlib.import_module, roots):
        names += [one.name for one in pkgutil.walk_packages(root.__path__, f"{root.__name__}.")]
    for name in names:
        importlib.import_module(name)
    return {name: load_script(name) for name in TRAINERS} if kind == "torch" else {}
