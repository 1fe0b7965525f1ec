"""Predictors that are no checkpoints: predictions in a table, functions, other libraries' models.

A function of a module that the user names, a skops file, a folder of sentence-transformers or
SetFit, and a transformers model for text classification with one label. Nothing is unpickled, and
no code is run beside that function.
"""

import importlib
import logging
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pqpp_backbones.checkpoint import CONFIG, Tensors
from pqpp_backbones.errors import ModelError
from pqpp_files.errors import PqppError, in_a_line
from pqpp_files.extras import needing
from pqpp_files.foreign.json_values import read_json
from pqpp_files.read_table import read_table
from pqpp_hub import is_repository_id
from pqpp_models.errors import PredictorError
from pqpp_models.predictor import Predictor
from pqpp_models.prompts import COLUMN, read_rows
from pqpp_models.text.ridge.scores import TABLES

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
        raise PredictorError(f"no file {path}; check the path")
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
    with loading(f"{name} has no usable sentence encoder", "save it again", str(folder), files=()):
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


_log = logging.getLogger(__name__)
KEYS = ("prompt_id", "prompt")


class PredictingFunction(Predictor):
    """A function of prompts: one score a prompt, whatever target it is compared with.

    Args:
        function: Takes a list of prompts, and returns a number for each.
        called: What messages and tables call it.

    Raises:
        PredictorError: When it is asked, and answers with other than one number a prompt.

    Example:
        >>> PredictingFunction(lambda prompts: [len(p) for p in prompts], "length").predict(["cat"])
        array([[3.]])
    """

    name = "function"
    one_score: ClassVar[bool] = True
    higher = "unknown"

    def __init__(self, function: Callable[[list[Any]], ArrayLike], called: str) -> None:
        self.function, self.shipped_as = function, called

    def _score(self, rows: list[Any], targets: tuple[str, ...]) -> NDArray[np.float64]:
        try:
            answer = self.function(list(rows))
        except PqppError:
            raise
        except Exception as error:  # whatever a stranger's function does
            raise PredictorError(
                f"{self.called} failed on {len(rows)} prompts ({in_a_line(error)}); correct it"
            ) from error
        try:
            values = np.asarray(answer, dtype=np.float64)
        except (TypeError, ValueError):
            values = np.empty(0)
        if values.size != len(rows):
            raise PredictorError(
                f"{self.called} answered with {type(answer).__name__} of shape "
                f"{np.shape(answer) if np.ndim(answer) else ()} for {len(rows)} prompts; return "
                "one number each"
            )
        return values.reshape(-1, 1)

    @classmethod
    def from_checkpoint(cls, folder: Path, config: Mapping[str, Any], tensors: Tensors) -> Self:
        """Refuse: there is nothing to load."""
        raise PredictorError(
            f"a {cls.name} is not saved as a checkpoint; give the table or the function"
        )


class PredictionTable(PredictingFunction):
    r"""Predictions in a column of a table, by `prompt_id` or `prompt`; repeated ones are averaged.

    Args:
        path: CSV, TSV, JSON, JSONL or Parquet.
        column: Where the predictions stand.

    Raises:
        FileError: The table cannot be read, or a prediction is no number.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp(), "mine.csv")
        >>> _ = path.write_text("prompt,score\na cat,0.5\na dog,0.25\n")
        >>> PredictionTable(path, "score").predict([{"prompt": "a dog"}, {"prompt": "a cat"}])
        array([[0.25],
               [0.5 ]])
    """

    name = "prediction_table"
    inputs = "table"
    chunk_size = 1 << 40  # a part of the rows alone may have none of its prompts

    def __init__(self, path: str | Path, column: str) -> None:
        table = read_table(path, remedy="name it like FILE:COLUMN")
        super().__init__(self._of_rows, f"{path}:{column}")
        keys = [name for name in KEYS if name in table.columns]
        self.columns: dict[str, Sequence] = {name: table.texts(name) for name in keys}
        self.columns["predicted"] = table.numbers(column)
        self.read_rows = lambda rows: read_rows(rows, [COLUMN], self.called)

    def _of_rows(self, rows: list[Any]) -> Any:
        there = {name: [row[name] for row in rows] for name in KEYS if name in rows[0]}
        values = values_by_prompt(self.columns, there, ["predicted"], self.called)["predicted"]
        if missing := values.count(None):
            lacks = "%s has no prediction of %d of %d prompts; all are compared on the others"
            _log.warning(lacks, self.called, missing, len(rows))
        return values


def named_predictor(name: str) -> Predictor:
    """Return what one name means: `FILE:COLUMN`, what `foreign_scores` takes, or a predictor's.

    Raises:
        PredictorError: It means nothing, or what it means cannot be had.

    Example:
        >>> named_predictor("builtins:list").predict(["3"]).tolist()
        [[3.0]]
    """
    path, _, column = name.rpartition(":")
    if column and path.lower().removesuffix(".gz").endswith(TABLES):
        return PredictionTable(path, column)
    scores = foreign_scores(name)
    return PredictingFunction(scores, name) if scores else Predictor.from_pretrained(name)


def named_predictors(given: Mapping[str, Any]) -> dict[str, Predictor]:
    """Return what somebody compares by names of their own.

    Args:
        given: Name to a predictor, a function of a list of prompts, or what
            `named_predictor` takes.

    Example:
        >>> list(named_predictors({"mine": len, "words": "n_words"}))
        ['mine', 'words']
    """
    named: dict[str, Predictor] = {}
    for name, value in given.items():
        found = named_predictor(value) if isinstance(value, str) else value
        named[name] = found if isinstance(found, Predictor) else PredictingFunction(found, name)
    return named


def values_by_prompt(
    table: Mapping[str, Sequence],
    rows: Mapping[str, Sequence],
    columns: Sequence[str],
    called: str = "the file of metrics",
) -> dict[str, list[float | None]]:
    """Bring metrics into the order of a benchmark's rows; several rows a prompt are averaged.

    Args:
        table: The user's columns, `prompt_id` or `prompt` among them.
        rows: The benchmark's columns.
        columns: The metrics, or predictions.
        called: What messages call the table.

    Returns:
        Metric to one value a row of the benchmark, None where the table has none.

    Raises:
        PredictorError: The table has neither key, or none of the benchmark's prompts.

    Example:
        >>> table = {"prompt": ["a cat", "a cat"], "glide_hpsv2": [0.2, 0.4]}
        >>> found = values_by_prompt(table, {"prompt": ["a dog", "a cat"]}, ["glide_hpsv2"])
        >>> found["glide_hpsv2"][0], round(found["glide_hpsv2"][1], 9)
        (None, 0.3)
    """
    import pandas as pd

    key = next((name for name in KEYS if name in table and name in rows), None)
    if key is None:
        raise PredictorError(
            f"{called} needs a column {' or '.join(KEYS)}; it has {', '.join(table)}"
        )
    numbers = {column: np.array(table[column], dtype=float) for column in columns}
    means = pd.DataFrame(numbers).groupby(np.array(table[key], dtype=object)).mean()
    means = means.reindex(pd.Index(list(rows[key]), dtype=object))
    if means.isna().all(axis=None):
        raise PredictorError(
            f"no {key} of {called} is one of this split's {len(means)}; name the split "
            "that it was computed on"
        )
    return {column: [None if v != v else v for v in means[column].tolist()] for column in columns}
