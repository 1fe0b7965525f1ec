"""What can be wrong with what an engine is given; each message is one line."""

from pqpp_files.errors import PqppError


class EngineError(PqppError):
    """Images, rewrites, routes or a collection cannot be made or used as asked."""


class ImageRefusedError(EngineError):
    """One image cannot be made; others may."""
