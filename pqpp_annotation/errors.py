"""What can be wrong with a study, its files and what is sent to it; each message is one line."""

from pqpp_files.errors import PqppError


class AnnotationError(PqppError):
    """A study, its database, an image or an answer cannot be used, or a person may not do this.

    Args:
        message: The problem, in one line.
        status: HTTP status of the response: 403 if the person may not see or do it, 409 if an
            answer is invalid, 503 if the database cannot be reached, 400 by default. Annotators
            read errors with a status, so these are translated (`make texts`).
    """

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status
