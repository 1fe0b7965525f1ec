"""The errors of the predictors: one line each, with the value, what is allowed and the fix.

All are ``PqppError``, which is a ``ValueError``: the command line catches that, prints the line and
exits with 2.
"""

from pqpp_backbones.errors import ModelError as ModelError


class PredictorError(ModelError):
    """A predictor cannot use its input.

    >>> issubclass(PredictorError, ModelError) and issubclass(ModelError, ValueError)
    True
    """


class MissingEvidenceError(PredictorError):
    """The environment does not name the data that a measure needs."""
