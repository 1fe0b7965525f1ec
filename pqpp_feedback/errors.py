"""The errors of feedback on images; each message is one line."""

from collections.abc import Sequence, Sized

from pqpp_backbones.errors import ModelError
from pqpp_files.names import pluralize


class FeedbackError(ModelError):
    """Images cannot be assessed as requested."""


def check_choice(name: str, value: object, allowed: Sequence[str]) -> None:
    """Raise an error if a value is not allowed.

    Example:
        >>> check_choice("score", "beauty", ["alignment", "overall"])
        Traceback (most recent call last):
        pqpp_feedback.errors.FeedbackError: `score` must be one of alignment, overall; got 'beauty'
    """
    if value not in allowed:
        raise FeedbackError(f"`{name}` must be one of {', '.join(allowed)}; got {value!r}")


def check_prompt_count(images: Sized, prompts: Sized) -> None:
    """Raise an error if the numbers of images and prompts differ.

    Example:
        >>> check_prompt_count([1, 2], ["a cat"])
        Traceback (most recent call last):
        pqpp_feedback.errors.FeedbackError: expected 2 prompts, one for each image; got 1
    """
    if len(images) != len(prompts):
        expected = pluralize(len(images), "prompt")
        raise FeedbackError(f"expected {expected}, one for each image; got {len(prompts)}")
