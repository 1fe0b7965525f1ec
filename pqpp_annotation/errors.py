"""The error of annotation studies."""

from pqpp_files.errors import PqppError


class AnnotationError(PqppError):
    """An invalid study, database, image or answer, or an action that is not allowed.

    Args:
        message: The problem and its fix, in one line.
        status: HTTP status of the response: 403 if the person has no permission, 409 if an answer
            is invalid, 503 if the database is unavailable, else 400. Only errors with status 400
            are hidden from annotators; all others are translated (`make texts`).
    """

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status
