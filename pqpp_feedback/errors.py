"""What can be wrong with what feedback on images is asked for; each message is one line."""

from pqpp_backbones.errors import ModelError


class FeedbackError(ModelError):
    """A model of feedback or an assessor was given something that it cannot use."""


class AssessError(FeedbackError):
    """Images cannot be assessed as asked: the run ends with one line."""


class ImageError(AssessError):
    """One image cannot be assessed: its row says why, and the run goes on.

    Example:
        >>> issubclass(ImageError, AssessError)
        True
    """
