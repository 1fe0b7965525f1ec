"""The normalised content of prompts, which text predictors read in training and in prediction."""

from pqpp_backbones.prompt.prompt import Prompt


def normalise_prompt(prompt: str) -> str:
    """Return the normalised content of a prompt, without syntax and tails.

    >>> normalise_prompt("A (RED:1.2) cat, 4k --ar 16:9")
    'a red cat'
    """
    return Prompt.read(prompt).normalised
