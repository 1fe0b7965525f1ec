"""The errors of the predictors: one line each, with what came, what is allowed and what to do.

All of them but the Hub's are ``PredictorError``, and all are ``PqppError``, which is a
``ValueError``: the command line catches that, prints the line and exits with 2.
"""

from pqpp_files.errors import PqppError
from pqpp_hub.push import HubError as HubError


class PredictorError(PqppError):
    """A predictor was given something that it cannot use.

    >>> issubclass(CheckpointError, PredictorError) and issubclass(PredictorError, ValueError)
    True
    """


class UnknownPredictorError(PredictorError):
    """A predictor's name is neither shipped, nor a local folder, nor a repository on the Hub."""


class UnknownTargetError(PredictorError):
    """A target's name is not known, or this predictor does not predict it."""


class MissingResourceError(PredictorError):
    """Data that a predictor looks up at run time is not installed (a WordNet, a tagger)."""


class CheckpointError(PredictorError):
    """A saved predictor is absent, damaged, of another kind, or from a newer version."""
