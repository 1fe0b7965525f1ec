"""The errors of engines; each message is one line."""

from pqpp_files.errors import PqppError


class EngineError(PqppError):
    """Images, rewrites, routes or an index cannot be created or used as requested.

    Args:
        message: The problem, in one line.
        refuses_image: Whether the error concerns one image only; other images can still be
            generated.
    """

    def __init__(self, message: str, refuses_image: bool = False) -> None:
        super().__init__(message)
        self.refuses_image = refuses_image
