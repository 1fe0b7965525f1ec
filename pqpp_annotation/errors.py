"""What can be wrong with a study, its files and what is sent to it; each message is one line."""

from pqpp_files.errors import PqppError


class AnnotationError(PqppError):
    """The root of the errors of this package."""


class StudyError(AnnotationError):
    """A study file, its table of prompts or an image cannot be used."""


class StoreError(AnnotationError):
    """The database cannot be opened, is of a newer version, or is served already."""


class AnswerError(AnnotationError):
    """An answer does not fit its task; nothing of it was kept."""


class NotAllowedError(AnnotationError):
    """A person may not see or do this: the link has expired, or it is another's."""
