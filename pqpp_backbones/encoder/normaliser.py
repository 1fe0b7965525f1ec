"""What a text predictor reads of a prompt, so that how it is typed never changes what is predicted.

A text predictor normalises in training and in prediction by `get_content`.
"""

from pqpp_backbones.prompt.prompt import Prompt


def get_content(prompt: str) -> str:
    """Return the normalised content of a prompt, without syntax and tails.

    >>> get_content("A (RED:1.2) cat, 4k --ar 16:9")
    'a red cat'
    """
    return Prompt.read(prompt).normalised
