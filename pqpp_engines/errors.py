"""What can be wrong with what an engine is given; each message is one line."""

from pqpp_files.errors import PqppError


class EngineError(PqppError):
    """The root of the errors of this package."""


class RouteError(EngineError):
    """Routes, a rule or a router's folder cannot be used, or every route has failed."""


class RewriteError(EngineError):
    """A prompt cannot be rewritten or judged as asked."""


class GenerateError(EngineError):
    """Images cannot be made as asked."""


class ImageRefusedError(GenerateError):
    """One image cannot be made; others may."""


class IndexingError(EngineError):
    """A collection cannot be embedded, indexed or searched as asked."""
