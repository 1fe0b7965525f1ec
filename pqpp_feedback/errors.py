"""What can be wrong with what feedback on images is asked for; each message is one line."""

import numbers
from collections.abc import Sequence, Sized
from typing import Any

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


def check_choice(name: str, value: object, allowed: Sequence[str]) -> None:
    """Refuse a value that is not among those allowed.

    Example:
        >>> check_choice("score", "beauty", ["alignment", "overall"])
        Traceback (most recent call last):
        pqpp_feedback.errors.FeedbackError: `score` is 'beauty'; choose among alignment, overall
    """
    if value not in allowed:
        raise FeedbackError(f"`{name}` is {value!r}; choose among {', '.join(allowed)}")


def check_share(name: str, value: Any) -> None:
    """Refuse what is no number from 0 to 1.

    Example:
        >>> check_share("threshold", 5)
        Traceback (most recent call last):
        pqpp_feedback.errors.FeedbackError: `threshold` is 5; it must be from 0 to 1
    """
    if not isinstance(value, numbers.Real) or not 0 <= float(value) <= 1:
        raise FeedbackError(f"`{name}` is {value!r}; it must be from 0 to 1")


def check_pairs(images: Sized, prompts: Sized) -> None:
    """Refuse images that have not a prompt each.

    Example:
        >>> check_pairs([1, 2], ["a cat"])
        Traceback (most recent call last):
        pqpp_feedback.errors.FeedbackError: 2 image(s), 1 prompt(s); give one prompt for each image
    """
    if len(images) != len(prompts):
        came = f"{len(images)} image(s), {len(prompts)} prompt(s)"
        raise FeedbackError(f"{came}; give one prompt for each image")


def check_count(name: str, value: Any) -> None:
    """Refuse what is no whole number of 1 or more.

    Example:
        >>> check_count("batch_size", 0)
        Traceback (most recent call last):
        pqpp_feedback.errors.FeedbackError: `batch_size` is 0; it must be 1 or more
    """
    if not isinstance(value, numbers.Integral) or value < 1:
        raise FeedbackError(f"`{name}` is {value!r}; it must be 1 or more")
