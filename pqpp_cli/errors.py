"""Which errors the command line prints as one line."""

import sys

# The base class of each package's typed errors. An error of a package can only have been raised if
# the package was imported, so none is imported for the question.
_TYPED = {
    "pqpp_metrics.errors": "MetricInputError",
    "pqpp_datasets.errors": "BenchmarkError",
    "pqpp_models.errors": "PredictorError",
    "pqpp_hub.push": "HubError",
    __name__: "CommandError",
}


class CommandError(ValueError):
    """The command line was given something that it cannot use."""


def is_typed(error: Exception) -> bool:
    """Tell whether an error is one of ours, made to be read by a user.

    Example:
        >>> is_typed(CommandError("no prompt came")), is_typed(ValueError("surprise"))
        (True, False)
    """
    bases = (
        getattr(sys.modules[module], name)
        for module, name in _TYPED.items()
        if module in sys.modules
    )
    return isinstance(error, tuple(bases))
