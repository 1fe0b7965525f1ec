"""An entry of the list of predictors, which each family keeps in its own folder."""

from typing import NamedTuple


class PredictorEntry(NamedTuple):
    """A predictor that `register_predictor` takes; a family's module has them as `PREDICTORS`.

    Attributes:
        name: what a user types, and the type of its checkpoints.
        target: ``"module:Class"``, imported at first use.
        about: what it is, in a line.
        needs: what it needs beside a prompt, in words.
        shipped: whether the name alone is enough to predict with.
    """

    name: str
    target: str
    about: str
    needs: str = ""
    shipped: bool = True
