"""One command of each thing that an extra promises, and the small files and models for it."""

from pathlib import Path

TRIED = {
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
    "collection": [
        ["models", "collection", "build", "captions.txt", "--model", "encoder", "--output", "c"]
    ],
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
    "onnx": [["predict", "a cat", "--predictor", "./bert_onnx"]],
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
        ["generate", "--model", "pipe", "--file", "prompts.csv", "--images-per-prompt", "1",
         "--output", "made", "--device", "cpu", "--steps", "2"],
        ["rewrite", "a red cat", "--target", "mean_hbpp", "--candidates", "candidates.csv"],
    ],
    "assess": [
        ["assess", "vistar", "--image-dir", "images", "--file", "prompts.csv", "--only",
         "text_rendering"],
        ["assess", "gimbrr", "--image-dir", "images", "--file", "prompts.csv", "--detector",
         "detector", "--clip", "clip", "--output", "gimbrr.parquet", "--device", "cpu"],
        ["assess", "rahf", "--image-dir", "images", "--file", "prompts.csv", "--model", "rahf",
         "--output", "rahf.parquet", "--device", "cpu"],
    ],
}  # fmt: skip
"""The command lines of each extra alone; of the core by the empty name."""

CODE = {
    "richhf": "from pqpp_datasets.richhf.tfrecord import _masked_crc; print(_masked_crc(b'a'))",
    "vistar": (
        "from pqpp_datasets.vistar.structured_prompt import parse_prompt;"
        "print(parse_prompt('[GD|TR] a cat'))"
    ),
    "apps": "import diffusers; from pqpp_feedback.rahf.uses import __path__",
    "ray": (
        "import ray, ray.data; from pqpp_engines import ray_predict; ray.init(num_cpus=1);"
        "rows = ray.data.from_items([{'prompt': 'a cat'}]);"
        "print(ray_predict(rows, 'mean_rr').take_all())"
    ),
    "torchmetrics": (
        "from pqpp_metrics.states import TorchMetric; metric = TorchMetric('rmse_qpp');"
        "metric.update([1.0, 2.0], [1.0, 3.0]); print(metric.compute())"
    ),
    "trackers": "import tensorboard",
    "postgresql": "import psycopg",
}
"""What is run of an extra that adds to another, or has no command."""


def prepare(folder: Path) -> None:
    """Write what the commands read."""
    import numpy as np

    from support.drawn_texts import draw_text
    from support.tiny_eyes import save_detector
    from support.tiny_models import save_clip, save_text_encoder
    from support.tiny_rahf import diffusion, tiny_feedback

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
    save_text_encoder(folder / "encoder")
    save_clip(folder / "clip")
    save_detector(folder / "detector")
    tiny_feedback().save_pretrained(folder / "rahf")
    diffusion().save_pretrained(folder / "pipe")
    _save_bert(folder)


def _save_bert(folder: Path) -> None:
    from pqpp_backbones.pretrained import load_tokenizer
    from pqpp_models.bert.modeling_bert_predictor import BertForPerformancePrediction
    from pqpp_models.bert.onnx_predictor import OnnxBertPredictor
    from pqpp_models.bert.predictor import BertPredictor

    encoder = str(folder / "encoder")
    model = BertForPerformancePrediction.from_backbone(encoder, targets=["mean_hbpp"])
    predictor = BertPredictor(model, load_tokenizer(encoder))
    predictor.save_pretrained(folder / "bert")
    OnnxBertPredictor.from_torch(predictor).save_pretrained(folder / "bert_onnx")
