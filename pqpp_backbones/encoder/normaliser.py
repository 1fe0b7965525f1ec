"""Normalisation of prompts for the text predictors."""

from pqpp_backbones.prompt.prompt import Prompt


def normalise_prompt(prompt: str) -> str:
    """Return the content of a prompt in lower case, without generators' syntax and quality tags.

    >>> normalise_prompt("A (RED:1.2) cat, 4k --ar 16:9")
    'a red cat'
    """
    return Prompt.read(prompt).normalised
