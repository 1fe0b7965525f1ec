"""Predictors that are not checkpoints: tables of predictions, functions, and text classifiers.

The user names a function by its module, and a transformers text classifier by its folder or
repository. Nothing is unpickled, and no code is run except the named module's.
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
from pqpp_backbones.foreign import check_foreign_folder
from pqpp_files.errors import PqppError, describe
from pqpp_files.foreign.json_values import read_json
from pqpp_files.open_input import find_suffix
from pqpp_files.read_table import read_table
from pqpp_files.table_formats import find_column
from pqpp_hub import is_repository_id
from pqpp_metrics.tables import TABLES, as_text, split_path_and_columns
from pqpp_models.errors import PredictorError
from pqpp_models.predictor import Predictor
from pqpp_models.prompts import COLUMN, read_rows

TextScores = Callable[[list[str]], Any]
_FUNCTION = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_PICKLE_SUFFIXES = (".pkl", ".pickle", ".joblib", ".skops")


def find_scoring_function(name: str) -> TextScores | None:
    """Return the scoring function that a name refers to; None if it names a predictor.

    Args:
        name: `MODULE:FUNCTION`, importable or in the working directory; or a folder or
            OWNER/REPOSITORY of a transformers text classifier with one label.

    Raises:
        PredictorError: The function cannot be loaded, or the classifier has several labels.

    Example:
        >>> find_scoring_function("static") is None, find_scoring_function("builtins:len").__name__
        (True, 'len')
    """
    if name.lower().endswith(_PICKLE_SUFFIXES):
        remedy = "pass MODULE:FUNCTION, a function that loads it"
        raise PredictorError(f"{name} could run code when loaded; {remedy}")
    if _FUNCTION.fullmatch(name) and not os.path.exists(name):  # noqa: PTH110
        return import_function(name)
    folder = Path(name).expanduser()
    if not folder.is_dir():
        if not is_repository_id(name):
            return None
        from pqpp_hub.pull import pull_files

        try:
            folder = pull_files(name, (CONFIG,), error=ModelError)
        except ModelError:
            return None  # loading the predictor reports the error
    if not (folder / CONFIG).is_file():
        return None
    check_foreign_folder(folder)
    config = read_json(folder / CONFIG, ModelError)
    classes = config.get("architectures") if isinstance(config, dict) else None
    is_classifier = str(classes).endswith("ForSequenceClassification']")
    return load_classifier(name) if is_classifier and "predictor_type" not in config else None


def import_function(name: str) -> TextScores:
    """Import a function named `MODULE:FUNCTION`.

    Raises:
        PredictorError: The function does not exist, or importing its module fails.

    Example:
        >>> import_function("statistics:mean")([1, 3])
        2
    """
    module, _, attribute = name.partition(":")
    folder = str(Path.cwd())
    sys.path.insert(0, folder)
    try:
        value: Any = importlib.import_module(module)
        for part in attribute.split("."):
            value = getattr(value, part)
    except Exception as error:  # a user's module may raise anything
        remedy = "write MODULE:FUNCTION, and start Python or pqpp in the folder of MODULE.py"
        raise PredictorError(f"{name} cannot be imported ({describe(error)}); {remedy}") from error
    finally:
        sys.path.remove(folder)
    if not callable(value):
        kind = type(value).__name__
        raise PredictorError(f"{name} is a {kind}, not a function; use a function of prompts")
    return value


def load_classifier(name: str) -> TextScores:
    """Load a text classifier with one label as a function from prompts to logits.

    Raises:
        PredictorError: The model has several labels.
    """
    from transformers import TextClassificationPipeline

    from pqpp_backbones.pretrained import load_model

    loaded = load_model(name, "AutoModelForSequenceClassification", "text classifier")
    labels = loaded.model.config.num_labels
    if labels != 1:
        raise PredictorError(f"{name} has {labels} labels; use a model with one label")

    classify = TextClassificationPipeline(
        model=loaded.model,
        tokenizer=loaded.processor,
        device=loaded.device,
        function_to_apply="none",
        truncation=True,
        batch_size=32,
    )
    return lambda prompts: np.array([answer["score"] for answer in classify(list(prompts))])


_log = logging.getLogger(__name__)
KEYS = ("prompt_id", "prompt")


class FunctionPredictor(Predictor):
    """A predictor of any target that calls a function of prompts.

    Args:
        function: A function that accepts a list of prompts and returns one number per prompt.
        called: The displayed name, in messages and tables.

    Raises:
        PredictorError: The function does not return one number per prompt.

    Example:
        >>> FunctionPredictor(lambda prompts: [len(p) for p in prompts], "length").predict(["cat"])
        array([[3.]])
    """

    name = "function"
    is_scalar: ClassVar[bool] = True
    higher_is = "unknown"

    def __init__(self, function: Callable[[list[Any]], ArrayLike], called: str) -> None:
        self.function, self.shipped_as = function, called

    def _score(self, rows: list[Any], targets: tuple[str, ...]) -> NDArray[np.float64]:
        try:
            answer = self.function(list(rows))
        except PqppError:
            raise
        except Exception as error:  # a user's function may raise anything
            fault = f"{self.title} failed on the prompts ({describe(error)})"
            raise PredictorError(f"{fault}; fix the function") from error
        try:
            values = np.asarray(answer, dtype=np.float64)
        except (TypeError, ValueError):
            values = np.empty(0)
        if values.size != len(rows):
            raise PredictorError(
                f"{self.title} returned {type(answer).__name__} of shape {np.shape(answer)}; "
                f"return one number per prompt ({len(rows)})"
            )
        return values.reshape(-1, 1)

    @classmethod
    def from_checkpoint(cls, folder: Path, config: Mapping[str, Any], tensors: Tensors) -> Self:
        """Raise an error, since there are no checkpoints of this class."""
        raise PredictorError(f"a {cls.name} has no checkpoint; create it from a table or function")


class TablePredictor(FunctionPredictor):
    r"""A predictor that looks up predictions in a table with a column `prompt_id` or `prompt`.

    Predictions of duplicate rows are averaged.

    Args:
        path: CSV, TSV, JSON, JSONL or Parquet.

    Raises:
        FileError: The table cannot be read, or a prediction is not a number.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp(), "mine.csv")
        >>> _ = path.write_text("prompt,score\na cat,0.5\na dog,0.25\n")
        >>> TablePredictor(path, "score").predict([{"prompt": "a dog"}, {"prompt": "a cat"}])
        array([[0.25],
               [0.5 ]])
    """

    name = "prediction_table"
    inputs = "table"
    chunk_size = 1 << 40  # look up all rows at once: a smaller batch may have no prediction

    def __init__(self, path: str | Path, column: str) -> None:
        table = read_table(path, remedy="write FILE:COLUMN")
        super().__init__(self._look_up_predictions, f"{path}:{column}")
        self.column = column
        # Errors name all columns, but only the keys and the predictions are kept.
        self.columns: dict[str, Sequence[Any]] = dict.fromkeys(table.columns, ())
        names = {n: n if n in table else find_column(table.columns, n) for n in KEYS}
        self.columns |= {key: table[name] for key, name in names.items() if name}
        self.columns[column] = table.numbers(column)
        self.read_rows = lambda rows: read_rows(rows, [COLUMN], self.title)

    def _look_up_predictions(self, rows: list[Any]) -> Any:
        keys = {name: [row[name] for row in rows] for name in KEYS if name in rows[0]}
        values = join_by_prompt(self.columns, keys, [self.column], self.title)[self.column]
        if missing := values.count(None):
            message = "%s has no prediction for %d of %d prompts; all are compared on the rest"
            _log.warning(message, self.title, missing, len(rows))
        return values


def load_any_predictor(name: str) -> Predictor:
    """Load a pqpp predictor, a prediction column `FILE:COLUMN`, a function or a text classifier.

    Raises:
        PredictorError: The name is unknown, or the predictor cannot be loaded.

    Example:
        >>> load_any_predictor("builtins:list").predict(["3"]).tolist()
        [[3.0]]
    """
    path, column = split_path_and_columns(name)
    if column and find_suffix(path) in TABLES:
        return TablePredictor(path, column)
    if find_suffix(name) in TABLES:
        raise PredictorError(f"{name} is a table; add its prediction column: {name}:COLUMN")
    scores = find_scoring_function(name)
    return FunctionPredictor(scores, name) if scores else Predictor.from_pretrained(name)


def load_named_predictors(predictors: Mapping[str, Any]) -> dict[str, Predictor]:
    """Load each value of a mapping as a predictor, under the same name.

    Args:
        predictors: For each name, a predictor, a function of a list of prompts, or a name for
            `load_any_predictor`.

    Example:
        >>> list(load_named_predictors({"mine": len, "words": "n_words"}))
        ['mine', 'words']
    """
    loaded: dict[str, Predictor] = {}
    for name, value in predictors.items():
        scorer = load_any_predictor(value) if isinstance(value, str) else value
        loaded[name] = scorer if isinstance(scorer, Predictor) else FunctionPredictor(scorer, name)
    return loaded


def join_by_prompt(
    table: Mapping[str, Sequence],
    rows: Mapping[str, Sequence],
    columns: Sequence[str],
    table_name: str = "the file of metrics",
) -> dict[str, list[float | None]]:
    """Align the columns of a table with the rows of a benchmark, averaging duplicate prompts.

    Args:
        table: The columns of the table, including `prompt_id` or `prompt`.
        rows: The columns of the benchmark.

    Returns:
        For each column, one value per row of the benchmark; None if missing.

    Raises:
        PredictorError: The table shares no id or prompt column with the benchmark, or has values
            for none of its prompts.

    Example:
        >>> table = {"prompt": ["a cat", "a cat"], "glide_hpsv2": [0.2, 0.4]}
        >>> columns = join_by_prompt(table, {"prompt": ["a dog", "a cat"]}, ["glide_hpsv2"])
        >>> columns["glide_hpsv2"][0], round(columns["glide_hpsv2"][1], 9)
        (None, 0.3)
    """
    import pandas as pd

    key = next((name for name in KEYS if name in table and name in rows), None)
    if key is None:
        raise PredictorError(
            f"{table_name} has no column {' or '.join(repr(k) for k in KEYS if k in rows)} "
            f"(columns: {', '.join(table)}); rename a column, or add one"
        )
    numbers = {column: np.array(table[column], dtype=float) for column in columns}
    # Ids are numbers in some files, and texts in others.
    keys, wanted = ([as_text(cell) or None for cell in side[key]] for side in (table, rows))
    means = pd.DataFrame(numbers).groupby(pd.Series(keys, dtype=object)).mean()
    means = means.reindex(pd.Index(wanted, dtype=object))
    if means.isna().all(axis=None):
        fault = f"{table_name} has no value for any {key} of this split"
        raise PredictorError(f"{fault}; use a table of this split")
    return {column: [None if v != v else v for v in means[column].tolist()] for column in columns}
