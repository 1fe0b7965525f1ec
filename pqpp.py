"""Predict how well prompts will do in image generation and retrieval.

- `verdict`, `predict`, `read`: how hard a prompt is and why, its predictions, how it is read
- `fit`, `bench`, `Predictor`, `list_predictors`: fit, compare and load predictors
- `load_benchmark`, `list_benchmarks`: prompts with human ratings
- `reward`: a reward function for training models that rewrite prompts

All errors for invalid input are a `PqppError`. Names are imported at first use. More is in
`pqpp_metrics` (metrics), `pqpp_feedback` (evaluators of images) and `pqpp_engines` (routing,
rewriting, generation, retrieval). `python -m pqpp` runs the `pqpp` command.

Example:
    >>> import pqpp
    >>> table = pqpp.predict(["A man riding a wave.", "Two robots play chess."], "mean_hbpp")
    >>> list(table.columns)[:2], len(table)
    (['prompt', 'mean_hbpp'], 2)
"""

import importlib

TYPE_CHECKING = False  # true for type checkers; importing typing would double the import time
if TYPE_CHECKING:
    from pqpp_datasets.load import list_benchmarks as list_benchmarks
    from pqpp_datasets.load import load_benchmark as load_benchmark
    from pqpp_engines.rewrite.reward import reward as reward
    from pqpp_files.errors import PqppError as PqppError
    from pqpp_models.bench.run import bench as bench
    from pqpp_models.predict import predict as predict
    from pqpp_models.predictor import Predictor as Predictor
    from pqpp_models.read import read as read
    from pqpp_models.registry import list_predictors as list_predictors
    from pqpp_models.text.ridge.fitting import fit as fit
    from pqpp_models.verdict.verdict import verdict as verdict

_HOMES = {
    "PqppError": "pqpp_files.errors",
    "Predictor": "pqpp_models.predictor",
    "bench": "pqpp_models.bench.run",
    "fit": "pqpp_models.text.ridge.fitting",
    "list_benchmarks": "pqpp_datasets.load",
    "list_predictors": "pqpp_models.registry",
    "load_benchmark": "pqpp_datasets.load",
    "predict": "pqpp_models.predict",
    "read": "pqpp_models.read",
    "reward": "pqpp_engines.rewrite.reward",
    "verdict": "pqpp_models.verdict.verdict",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> object:
    if name == "__version__":
        return importlib.import_module("importlib.metadata").version("pqpp")
    if name not in _HOMES:
        from pqpp_files.names import did_you_mean

        raise AttributeError(f"pqpp has no attribute {name!r}; {did_you_mean(name, __all__)}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, *(name for name in globals() if name.startswith("__")), "__version__"])


if __name__ == "__main__":
    from pqpp_cli.entry import main

    raise SystemExit(main())
