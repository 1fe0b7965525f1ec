"""A reward for training a model that writes prompts, in the form that TRL's trainers take."""

from collections.abc import Callable, Sequence
from typing import Any

from pqpp_engines.rewrite.judge import SAME, Judge


def reward(target: str = "alignment", **options: Any) -> Callable[..., list[float]]:
    """Return a function that tells how much rewrites of prompts are worth, for reinforcement.

    A predictor alone is gamed at once, so the reward is what `Judge` ranks by: the probabilities
    that a rewrite does better, is in order and means the same, multiplied. What is refused (numbers
    or a negation changed, a heap of words, what nobody can read) gets 0, the prompt itself .5 times
    the probability that it is in order. Without a model of entailment who does what to whom is not
    seen, and a long training may find that out: name one by `entailment`.

    Args:
        target: The target that shall become better.
        **options: Further arguments of `Judge`, as `predictor` and `entailment`.

    Returns:
        A function of `prompts` and `completions`, texts or lists of messages of which the last one
        counts, to floats from 0 to 1, one a completion. Where the prompts tell a model what to do,
        a column `original` of the data set has what is to be rewritten. Other columns are ignored.

    Raises:
        EngineError: As `Judge`.

    Example:
        >>> worth = reward("mean_hbpp")
        >>> better, cut = worth(["two dog on couch sit"] * 2, ["two dogs on a couch", "dogs"])
        >>> better > cut
        True
    """
    judge = Judge(target, **options)

    def worth(
        prompts: Sequence[Any],
        completions: Sequence[Any],
        original: Sequence[str] | None = None,
        **columns: Any,
    ) -> list[float]:
        rewards = []
        for before, after in zip(original or prompts, completions, strict=True):
            [verdict] = judge(_to_text(before), [_to_text(after)])
            rewards.append(0.5 * verdict.in_order if verdict.reason == SAME else verdict.worth)
        return rewards

    worth.__name__ = f"worth_{judge.target}"  # what trainers log it as
    return worth


def _to_text(turn: Any) -> str:
    return str(turn if isinstance(turn, str) else turn[-1]["content"])
