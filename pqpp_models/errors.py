"""The errors of predictors."""

from pqpp_backbones.errors import ModelError as ModelError


class PredictorError(ModelError):
    """A predictor does not exist, or cannot use its input.

    >>> issubclass(PredictorError, ModelError) and issubclass(ModelError, ValueError)
    True
    """


class MissingEvidenceError(PredictorError):
    """The environment variable for the data of a measure is missing or wrong."""
