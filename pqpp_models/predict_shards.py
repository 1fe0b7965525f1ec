"""Predictions for the rows of a shard."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pqpp_models.errors import PredictorError
from pqpp_models.predict import predict_columns
from pqpp_models.predictor import Predictor
from pqpp_models.registry import DEFAULT_PREDICTOR
from pqpp_models.verdict.reference import read_reference
from pqpp_models.verdict.verdict import predict_verdicts

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass
class ShardPredictor:
    """A function that adds predictions to the rows of a shard, for `pqpp_files.shards`.

    Args:
        predictor: Name or path, for `Predictor.from_pretrained`; loaded before the first shard.
        targets: As for `predict`.
        uncertainty: As for `predict`.
        column: The prompt column.
        revision: Branch, tag or commit of a predictor on the Hub.
        unread: As for `predict`.
        verdict: Add the columns of `PromptVerdict.as_record`.

    Returns:
        The input columns, the columns of `predict`, and `error`: why a row has no prediction. New
        columns end in `_predicted` if an input column has the same name.

    Example:
        >>> import pyarrow as pa
        >>> job = ShardPredictor("n_words")
        >>> job(pa.table({"prompt": ["a red cat", ""]})).column_names
        ['prompt', 'score', 'error']
    """

    predictor: str = DEFAULT_PREDICTOR
    targets: tuple[str, ...] | None = None
    uncertainty: bool = False
    column: str = "prompt"
    revision: str | None = None
    unread: str = "empty"
    verdict: bool = False

    @cached_property
    def loaded_predictor(self) -> Predictor:
        """The predictor, loaded at first use."""
        predictor = Predictor.from_pretrained(self.predictor, revision=self.revision)
        if predictor.inputs != "text":
            problem = f"{self.predictor} needs {predictor.inputs}, but shards contain only text"
            raise PredictorError(f"{problem}; use a text predictor such as static")
        if self.verdict:
            read_reference(predictor)
        return predictor

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the loaded predictor."""
        return {name: value for name, value in vars(self).items() if name != "loaded_predictor"}

    def __call__(self, table: pa.Table) -> pa.Table:
        """Add predictions to a table."""
        import pyarrow as pa

        from pqpp_files.shards import ERROR, get_texts

        texts, errors = get_texts(table, self.column, "prompt", "set `column` to the prompt column")
        predictor = self.loaded_predictor
        rows, options = predictor.read_rows(texts), (self.targets, self.uncertainty)
        if self.verdict:
            columns, verdicts = predict_verdicts(predictor, rows, *options, self.unread)
            columns |= verdicts.as_columns()
        else:
            columns = predict_columns(predictor, rows, *options, unread=self.unread)
        del columns["prompt"]
        types = dict.fromkeys(("ignored", "verdict", "level", "skill", "remedy"), pa.string())
        types["out_of_domain"] = pa.bool_()
        arrays = {n: pa.array(cells, types.get(n, pa.float64())) for n, cells in columns.items()}
        while taken := set(arrays) & set(table.column_names):  # as for a single table
            arrays = {f"{n}_predicted" if n in taken else n: array for n, array in arrays.items()}
        arrays[ERROR] = pa.array(errors, pa.string())
        if ERROR in table.column_names:
            raise PredictorError(f"the input already has a column {ERROR!r}; rename the column")
        for name, values in arrays.items():
            table = table.append_column(name, values)
        return table
