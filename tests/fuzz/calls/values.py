"""What an argument may be: what its function is for, by its name, or anything at all."""

import inspect
from collections import OrderedDict
from decimal import Decimal
from pathlib import Path, PurePosixPath
from random import Random
from typing import Any

import numpy as np
from support.tiny_models import REPOSITORY

_ODD: tuple[Any, ...] = (None, 0, 1, -1, 3, 0.5, -0.5, True, False, 2**70, 10**400, 1e308, 1j)
_ODD += (float("nan"), float("inf"), np.int8(3), np.float16(), np.float32(0.25), np.bool_(True))
_ODD += ("", " ", "a", "0", "mean_hbpp", "a,b", "é", "\x1b[2J", "a\nb", "a\0b", "\ud800", "x" * 500)
_ODD += (
    "static",
    "mean_hbpp,mean_rr",
    "owner/name",
    "./nowhere",
    "a/b/c",
    "~no-such-user/x",
    b"ab",
    b"",
)
_ODD += ([], (), {}, set(), {1, 2}, frozenset("a"), [None], [[]], [[], [1]])
_ODD += ([1, [2]], ["a", None])
_ODD += (["a", "b"], [""], [1, 2], [0.5], [True], {"a": 1}, {"prompt": ["a"]}, {"prompt": "a"})
_ODD += (
    {1: "a"},
    {"a": None},
    {None: 1},
    [{"prompt": "a"}],
    [{"prompt": 1}],
    [{}],
    object,
    object(),
)
_ODD += (slice(3), range(4), len, str, Exception("x"), OrderedDict(a=1), Decimal("0.5"), ...)
_ODD += (np.zeros(3), np.zeros((2, 2)), np.zeros((0, 3)), np.array(["a", "b"]), np.array(1.0))
_ODD += (np.array([None, 1]), np.array(["a"], object), np.full((2, 8), np.nan), Path("nowhere"))
_ODD += (PurePosixPath("x"), Path("file.txt"), Path("file.txt") / "x", Path(), "file.txt", ".")
OLDER = REPOSITORY / "tests" / "models" / "older_checkpoints"
_TEXTS = ["a red cat on a mat", "two dogs in the snow", "", "a sign that says 'Hello'"]


def _picture() -> Any:
    from PIL import Image

    return Image.new("RGB", (20, 20))


def _routes() -> Any:
    from pqpp_engines.route import Route

    return [Route("glide", "glide_hbpp", 1.0), Route("sdxl", "sdxl_hbpp", 4.0)]


def _rule() -> Any:
    from pqpp_engines.route import Rule

    return Rule(floor=0.5)


def _shown() -> Any:
    from pqpp_annotation.kinds import ShownImage, ShownItem

    image = ShownImage(1, "0" * 64, 8, 8)
    return ShownItem(1, "a cat", (image, ShownImage(2, "1" * 64, 8, 8)), {})


def _generator() -> Any:
    from pqpp_engines.generate import FolderGenerator

    return FolderGenerator(Path("pictures"), "made", {"p0"}, "{prompt_id}.png")


def _built() -> Any:
    from pqpp_datasets.own_benchmark import build_benchmark

    return build_benchmark("votes.csv")


def _table() -> Any:
    import pyarrow as pa

    return pa.table({"prompt": _TEXTS, "prompt_id": list("abcd")})


def _subject(name: str) -> Any:
    from fuzz.calls.doors import subjects

    return subjects()[name]


def _input() -> Any:
    from pqpp_files.open_input import Input

    return Input("prompts.csv")


def _study(path: str = "study.yaml") -> Any:
    from pqpp_annotation.study import make_study

    return make_study(path, "prompts.csv", "pictures")


def _study_file() -> str:
    _study()
    return "study.yaml"


def _saved_router() -> str:
    _subject("router").save_pretrained("router")
    return "router"


def _saved_feedback() -> str:
    _subject("feedback").save_pretrained("feedback")
    return "feedback"


def _saved_statistics() -> str:
    _subject("statistics").save("statistics")
    return "statistics"


def _chat() -> Any:
    from pqpp_backbones.chat.chat import Chat

    class Silent(Chat):
        name = "silent"

        def ask(self, request: Any) -> Any:
            raise NotImplementedError

    return Silent()


_VECTORS = np.random.default_rng(1).random((4, 8), dtype=np.float32)
GOOD: dict[str, Any] = {
    "judgments": ["votes.csv"],
    "best": {"BuildOptions": 2, "": _TEXTS},
    "built": _built,
    "calibration": [f"a photo of {n} dogs and a cat" for n in range(40)],
    "candidates": ["a cat that is red", "a big red cat on a mat"],
    "captions": ["a cat", "snow"],
    "collection_frequency": np.array([2, 1]),
    "columns": ["prompt", "scores", "images", "embeddings"],
    "column": "prompt",
    "command": "true {prompt} {output}",
    "chat": _chat,
    "floor": 0.5,
    "cosines": [0.9, 0.5],
    "count": 2,
    "document_frequency": np.array([1, 1]),
    "ds": None,
    "embeddings": _VECTORS,
    "ids": ["w", "x", "y", "z"],
    "queries": {"search": _VECTORS, "": ["a cat", "snow"]},
    "embed": None,
    "environment": {"SLURM_PROCID": "0", "SLURM_NTASKS": "2"},
    "factory": "Flat",
    "file": "prompts.csv",
    "files": {},
    "folder": {
        "FolderGenerator": "pictures",
        "Index": lambda: _subject("index").folder,
        "load": _saved_statistics,
        "": "made",
    },
    "functions": {"glide": str.upper, "sdxl": str.title},
    "generator": _generator,
    "image_dir": "pictures",
    "images": {
        "": ["0.png", "1.png"],
        "judge": lambda: [_picture()],
        "rewrite": lambda: [_picture()],
    },
    "index": 0,
    "is_ours": str,
    "items": lambda: iter([1, 2]),
    "job": lambda: lambda table: table,
    "k": 3,
    "kind": {"make_study": "relevance", "": "model"},
    "log_deviation": np.array([0.1, 0.2]),
    "message": "x",
    "model": "sdxl",
    "name": {
        "load_benchmark": "sample",
        "task_kind": "relevance",
        "score_class": "text_rendering",
        "assessor_options": "rahf",
        "open_assessors": "vistar",
        "render_card": "engines/router",
        "": "mine",
    },
    "name_or_path": {
        "Router": _saved_router,
        "router": _saved_router,
        "feedback": _saved_feedback,
        "FeedbackModel": _saved_feedback,
        "n_words": "n_words",
        "nqc": "nqc",
        **{
            name: str(OLDER / name)
            for name in ("bert", "clip_generation", "clip_retrieval", "correlation_cnn")
        },
        "text_ensemble": str(OLDER / "text_ensemble"),
        "": "static",
    },
    "n_documents": 2,
    "names": "mean_hbpp",
    "original": "a red cat on a mat",
    "originals": ["a red cat"],
    "other": lambda: _subject("index"),
    "output": "made",
    "path": {"read_study": _study_file, "from_file": "prompts.csv", "": "study.yaml"},
    "place": 1,
    "predictor": "static",
    "predictors": "n_words",
    "preferences": None,
    "rankings": None,
    "price": 0.0,
    "prompt_id": "p0",
    "prompt_ids": {"": ["p0"], "FolderGenerator": {"p0"}},
    "prompts": {
        "": _TEXTS,
        "generate": [{"prompt_id": "p0", "prompt": "a cat"}],
        "judge": ["a cat"],
        "rewrite": ["a cat"],
        "fit": [f"a photo of {n} dogs and a cat {n * n}" for n in range(40)],
    },
    "read": _TEXTS,
    "relevance": None,
    "repo_id": "owner/name",
    "rewrite": "a cat that is red",
    "rewrites": ["a cat that is red"],
    "routes": _routes,
    "rows": {
        "": _TEXTS,
        "bench": None,
        "nqc": [{"prompt": "a cat", "scores": [0.5, 0.4, 0.2]}],
        **dict.fromkeys(
            ("clip_generation", "clip_retrieval"),
            lambda: [{"prompt": "a cat", "images": [_picture()]}],
        ),
        "correlation_cnn": [{"prompt": "a cat", "embeddings": _VECTORS}],
    },
    "rule": _rule,
    "runs": None,
    "score": 1.0,
    "scores": [n / 40 for n in range(40)],
    "settings": {},
    "share": {"run_shards": (0, 1), "": "0/2"},
    "shards": list,
    "shown": _shown,
    "size": 8,
    "source": {
        **dict.fromkeys(("Json", "JsonLines", "Parquet", "Separated", "Text"), _input),
        "": "prompts.csv",
    },
    "statistics": lambda: _subject("statistics"),
    "study": {"add_prompts": _study, "": None},
    "subset": "sample",
    "table": _table,
    "target": "mean_hbpp",
    "targets": {
        "": "mean_hbpp",
        "fit": ["mean_hbpp"],
        **dict.fromkeys(("correlation_cnn", "clip_retrieval"), "mean_p10"),
    },
    "terms": ["cat", "dog"],
    "texts": _TEXTS,
    "url": "http://127.0.0.1:9/v1",
    "value": {"label": 1},
    "vectors": 1000,
    "where": "mine",
}
"""What a parameter is meant to be, by its name; by the function's where that tells more."""


def needed_files(room: Path) -> None:
    """Put the files that the good values name into a folder."""
    (room / "pictures").mkdir()
    _picture().save(room / "pictures" / "p0.png")
    (room / "file.txt").write_text("mine\n")
    (room / "prompts.csv").write_text("prompt_id,prompt,image,model\np0,a cat,p0.png,sdxl\n")
    rows = [f"cat {n},{n}.png,sdxl,{a},{n % 4 - 1}" for n in range(10) for a in "xyz"]
    (room / "votes.csv").write_text("\n".join(["prompt,image,model,annotator,label", *rows]))


def arguments(name: str, function: Any, random: Random) -> dict[str, Any]:
    """Return arguments for a function, of which usually one or two are odd."""
    found: dict[str, Any] = {}
    rate = random.choice((0.0, 0.3, 0.6, 1.0))
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        is_needed = parameter.default is parameter.empty
        if not is_needed and random.random() > 0.35:
            continue
        is_odd = random.random() < rate
        found[parameter.name] = random.choice(_ODD) if is_odd else _good(name, parameter)
    return found


def _good(name: str, parameter: inspect.Parameter) -> Any:
    value = GOOD.get(parameter.name, parameter.default)
    if isinstance(value, dict) and "" in value:
        ends = [end for end in value if end and end in name.split(".")]
        value = value[ends[-1] if ends else ""]
    is_maker = inspect.isfunction(value) or value is list
    return value() if is_maker else None if value is parameter.empty else value
