"""Ending a training that diverges, before anything of it is kept."""

import math

import torch

from pqpp_backbones.pretrained import is_finite
from pqpp_files.options.option import RecipeError


class Divergence:
    """Looks at the losses of the last steps together: a look at each would wait for the device.

    Args:
        option: What a recipe calls the learning rate.

    Example:
        >>> watch = Divergence()
        >>> watch.note(1, 0.5, torch.tensor(0.25))
        >>> watch.note(2, 0.5, torch.tensor(float("nan")))
        >>> watch.check()
        Traceback (most recent call last):
            ...
        pqpp_files.options.option.RecipeError: the training diverged: the loss is nan at ...
    """

    def __init__(self, option: str = "learning_rate") -> None:
        self._option = option
        self._steps: list[tuple[int, float, torch.Tensor]] = []

    def note(self, step: int, rate: float, loss: torch.Tensor) -> None:
        """Keep the loss of a step, from 1, and the learning rate that followed it."""
        self._steps.append((step, rate, loss.detach()))

    def check(self, model: torch.nn.Module | None = None) -> None:
        """Look at what was noted since the last time.

        Args:
            model: Look at its weights too: the last step may have broken them.

        Raises:
            RecipeError: A loss or a weight is NaN or infinite.
        """
        steps, self._steps = self._steps, self._steps[-1:]
        losses = torch.stack([loss.float() for *_, loss in steps]).tolist() if steps else []
        for (step, rate, _), loss in zip(steps, losses, strict=True):
            if not math.isfinite(loss):
                raise diverged(f"the loss is {loss}", step, rate, self._option)
        if model is not None and not is_finite(model):
            step, rate = steps[-1][:2] if steps else (0, 0.0)
            raise diverged("a weight is NaN or infinite", step, rate, self._option)


def diverged(reason: str, step: int, rate: float, option: str = "learning_rate") -> RecipeError:
    """Return the error of a training that diverged; `option` is what the learning rate is called.

    Example:
        >>> str(diverged("the loss is nan", 3, 0.5)).partition(";")[0]
        'the training diverged: the loss is nan at step 3, learning rate 0.5'
    """
    remedy = f"take a lower {option}, and another output"
    return RecipeError(
        f"the training diverged: {reason} at step {step}, learning rate {rate:g}; {remedy}"
    )
