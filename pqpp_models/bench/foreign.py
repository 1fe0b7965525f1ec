"""Models of other libraries as functions of prompts: nothing is unpickled, no code is run.

A function of a module that the user names, a skops file, a folder of sentence-transformers or
SetFit, and a transformers model for text classification with one label.
"""

import importlib
import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_backbones.checkpoint import CONFIG
from pqpp_backbones.errors import ModelError
from pqpp_files.errors import in_a_line
from pqpp_files.extras import needing
from pqpp_files.foreign.json_values import read_json
from pqpp_hub import is_repository_id
from pqpp_models.errors import PredictorError

TextScores = Callable[[list[str]], Any]
_FUNCTION = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_PICKLES = (".pkl", ".pickle", ".joblib")
_MODULES, _SETFIT = "modules.json", "config_setfit.json"
_HEAD = "model_head.skops"
_BATCH = 32


def foreign_scores(name: str) -> TextScores | None:
    """Return the function that a name means, None where it is a predictor's.

    Args:
        name: `MODULE:FUNCTION`, found as Python finds modules and in the working directory; a
            file that skops wrote; a folder of sentence-transformers with one number a text, of
            SetFit with a head that skops wrote, or of a transformers model for text classification
            with one label, which may also be OWNER/REPOSITORY.

    Raises:
        PredictorError: It cannot be had, is a pickle, or gives no single score.

    Example:
        >>> foreign_scores("static") is None, foreign_scores("builtins:len").__name__
        (True, 'len')
    """
    if name.lower().endswith(_PICKLES):
        raise PredictorError(
            f"{name}: a pickle may run any code and is not read; write the pipeline by "
            "skops.io.dump(pipeline, 'mine.skops')"
        )
    if name.lower().endswith(".skops"):
        # A regressor's prediction is the score; of a classifier of numbers it is their expected
        # value, of true and false the probability of true.
        pipeline = _skops(Path(name))
        return lambda prompts: _estimates(pipeline, np.array(prompts, dtype=object), name)
    if _FUNCTION.fullmatch(name) and not os.path.exists(name):  # noqa: PTH110
        return imported(name)
    folder = Path(name).expanduser()
    if not folder.is_dir():
        if not is_repository_id(name):
            return None
        try:
            folder = _pulled(name, (CONFIG, _MODULES))
        except ModelError:
            return None  # who loads a predictor says what is wrong
    if (folder / _MODULES).is_file():
        return sentence_scores(name)
    if (folder / CONFIG).is_file():
        config = read_json(folder / CONFIG, ModelError)
        kinds = config.get("architectures") if isinstance(config, dict) else None
        is_classifier = any(str(kind).endswith("ForSequenceClassification") for kind in kinds or ())
        if is_classifier and "predictor_type" not in config:
            return classifier_scores(name)
    return None


def _pulled(name: str, files: Sequence[str]) -> Path:
    from pqpp_hub.pull import pull_files

    return pull_files(name, files, error=ModelError)


def imported(name: str) -> TextScores:
    """Import a function, called `MODULE:FUNCTION`.

    Raises:
        PredictorError: There is none, or importing its module fails.

    Example:
        >>> imported("statistics:mean")([1, 3])
        2
    """
    module, _, attribute = name.partition(":")
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        value: Any = importlib.import_module(module)
        for part in attribute.split("."):
            value = getattr(value, part)
    except Exception as error:  # whatever a user's module does
        raise PredictorError(
            f"{name} cannot be imported ({in_a_line(error)}); name it like MODULE:FUNCTION, from "
            "the folder that holds MODULE.py"
        ) from error
    finally:
        sys.path.remove(here)
    if not callable(value):
        kind = type(value).__name__
        raise PredictorError(f"{name} is a {kind}; name a function of a list of texts")
    return value


def _skops(path: Path) -> Any:
    with needing(f"{path}", "foreign"):
        import skops.io
    if not path.is_file():
        raise PredictorError(f"there is no file {path}; check the path")
    try:
        unknown = skops.io.get_untrusted_types(file=path)
        loaded = None if unknown else skops.io.load(path, trusted=[])
    except Exception as error:  # whatever a foreign file may bring about
        raise PredictorError(
            f"{path} cannot be read as a file of skops ({in_a_line(error)}); write it again by "
            "skops.io.dump"
        ) from error
    if unknown:
        raise PredictorError(
            f"{path} holds types that may run code ({', '.join(unknown)[:100]}); make the pipeline "
            "of scikit-learn's own steps, or name a function of yours by MODULE:FUNCTION"
        )
    return loaded


def _estimates(estimator: Any, rows: Any, called: str) -> NDArray[np.float64]:
    """Return predictions, or the expected value of a classifier's classes."""
    if not hasattr(estimator, "predict_proba"):
        return np.asarray(estimator.predict(rows), dtype=np.float64)
    try:
        classes = np.asarray(estimator.classes_).astype(np.float64)
    except (TypeError, ValueError):
        raise PredictorError(
            f"{called} tells apart {', '.join(map(str, estimator.classes_))[:80]}, which have no "
            "order; fit it to numbers"
        ) from None
    return estimator.predict_proba(rows) @ classes


def sentence_scores(name: str) -> TextScores:
    """Return the scores of a folder of sentence-transformers, or of SetFit.

    Raises:
        PredictorError: It has code of its own, gives several numbers a text, or its head is a
            pickle.
    """
    from pqpp_backbones.pretrained import WHOLE, loading

    with needing(name, "foreign"):
        from sentence_transformers import SentenceTransformer
    folder = Path(name).expanduser()
    if not folder.is_dir():
        folder = _pulled(name, (*WHOLE, "*/model.safetensors", _HEAD))
    steps = read_json(folder / _MODULES, ModelError)
    odd = [step["type"] for step in steps if not step["type"].startswith("sentence_transformers.")]
    if odd:
        raise PredictorError(f"{name} runs code of its own ({odd[0]:.60}); it is not loaded")
    if weights := sorted(folder.glob("*/pytorch_model.bin")):
        raise PredictorError(
            f"{name}: {weights[0].parent.name} holds a pickle; save it by a newer "
            "sentence-transformers, which writes safetensors"
        )
    with loading(
        f"{name} holds no usable sentence encoder", "save it again", str(folder), files=()
    ):
        model = SentenceTransformer(
            str(folder), trust_remote_code=False, local_files_only=True,
            model_kwargs={"use_safetensors": True}, device="cpu",
        )  # fmt: skip
    head = folder / _HEAD
    if (folder / _SETFIT).is_file() or head.is_file():
        if not head.is_file():
            raise PredictorError(
                f"{name}: the head of SetFit is a pickle, which may run code; write it beside by "
                "skops.io.dump(model.model_head, 'FOLDER/"
                f"{_HEAD}')"
            )
        estimator = _skops(head)
        return lambda prompts: _estimates(estimator, _embedded(model, prompts), name)
    size = _embedded(model, [""]).shape[-1]
    if size != 1:
        raise PredictorError(
            f"{name} gives {size} numbers a text, a score is one; learn from them by pqpp fit, or "
            "end it with a Dense step of one number"
        )
    return lambda prompts: _embedded(model, prompts)


def _embedded(model: Any, prompts: Sequence[str]) -> NDArray[np.float64]:
    embeddings = model.encode(list(prompts), batch_size=_BATCH, show_progress_bar=False)
    return np.asarray(embeddings, dtype=np.float64)


def classifier_scores(name: str) -> TextScores:
    """Return the logits of a transformers model for text classification that has one label.

    Raises:
        PredictorError: It has several labels.
    """
    from transformers import TextClassificationPipeline

    from pqpp_backbones.pretrained import load_model

    loaded = load_model(name, "AutoModelForSequenceClassification", "text classifier")
    labels = loaded.model.config.num_labels
    if labels != 1:
        raise PredictorError(
            f"{name} has {labels} labels, a score is one; name a model that was trained with "
            "num_labels=1"
        )

    ask = TextClassificationPipeline(
        model=loaded.model,
        tokenizer=loaded.processor,
        device=loaded.device,
        function_to_apply="none",
        truncation=True,
        batch_size=_BATCH,
    )
    return lambda prompts: np.array([answer["score"] for answer in ask(list(prompts))])
