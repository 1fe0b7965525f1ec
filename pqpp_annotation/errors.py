"""What can be wrong with a study, its files and what is sent to it; each message is one line."""

from pqpp_files.errors import PqppError


class AnnotationError(PqppError):
    """The root of the errors of this package.

    Attributes:
        status: Of the answer to a request that ends so.
    """

    status = 400


class StudyError(AnnotationError):
    """A study file, its table of prompts or an image cannot be used."""


class StoreError(AnnotationError):
    """The database cannot be opened, is of another version, or is served already."""

    status = 503


class AnswerError(AnnotationError):
    """An answer does not fit its task; nothing of it was kept."""

    status = 409


class NotAllowedError(AnnotationError):
    """A person may not see or do this: the link has expired, or it is another's."""

    status = 403
