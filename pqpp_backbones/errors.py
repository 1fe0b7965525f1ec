"""The errors of models: one line each, with what came, what is allowed and what to do."""

from pqpp_files.errors import PqppError


class ModelError(PqppError):
    """A model, or what it is given, cannot be used; or a training cannot go on."""


class CheckpointError(ModelError):
    """A saved model is absent, damaged, of another kind, or from a newer version."""
