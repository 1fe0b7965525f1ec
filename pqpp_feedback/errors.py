"""The errors of feedback on images; each message is one line."""

from collections.abc import Sequence, Sized

from pqpp_backbones.errors import ModelError


class FeedbackError(ModelError):
    """Images cannot be assessed as requested."""


def check_choice(name: str, value: object, allowed: Sequence[str]) -> None:
    """Raise an error if a value is not allowed.

    Example:
        >>> check_choice("score", "beauty", ["alignment", "overall"])
        Traceback (most recent call last):
        pqpp_feedback.errors.FeedbackError: `score` is 'beauty'; choose one of alignment, overall
    """
    if value not in allowed:
        raise FeedbackError(f"`{name}` is {value!r}; choose one of {', '.join(allowed)}")


def check_pairs(images: Sized, prompts: Sized) -> None:
    """Raise an error unless there is one prompt per image.

    Example:
        >>> check_pairs([1, 2], ["a cat"])
        Traceback (most recent call last):
        pqpp_feedback.errors.FeedbackError: 2 image(s), 1 prompt(s); give one prompt for each image
    """
    if len(images) != len(prompts):
        came = f"{len(images)} image(s), {len(prompts)} prompt(s)"
        raise FeedbackError(f"{came}; give one prompt for each image")
