"""What can be wrong with a study, its files and what is sent to it; each message is one line."""

from pqpp_files.errors import PqppError


class AnnotationError(PqppError):
    """A study, its database, an image or an answer cannot be used, or a person may not do this.

    Args:
        message: What is wrong, in one line.
        status: Of the answer to a request that ends so: 403 where a person may not see or do it,
            409 where an answer does not fit, 503 where the database cannot be reached, 400 if
            none is given. A text that has one is read by people and translated (`make texts`).
    """

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status
