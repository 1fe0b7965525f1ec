"""A reward for training a model that writes prompts, in the form that TRL's trainers accept."""

from collections.abc import Callable, Sequence
from typing import Any

from pqpp_engines.rewrite.judge import SAME, Judge


def reward(target: str = "alignment", **options: Any) -> Callable[..., list[float]]:
    """Return a reward function for training a model that rewrites prompts.

    The reward is the score by which `Judge` ranks rewrites: the product of the probabilities that
    the rewrite does better, is grammatical, and means the same. A rewrite gets 0 if it changes
    numbers, swaps things or colours, adds a negation, loses one without `entailment` to confirm it,
    is word salad, or cannot be read. An unchanged prompt gets .5 times the probability that it is
    grammatical. Without `entailment`, the reward overlooks some changes of meaning, which a model
    may learn to exploit.

    Args:
        target: The target to improve.
        **options: Further arguments of `Judge`, such as `predictor` and `entailment`.

    Returns:
        A function of `prompts` and `completions` that returns one float from 0 to 1 per completion.
        Prompts and completions are texts, or lists of messages, of which the last is used. If the
        prompts are instructions, the dataset must have a column `original` with the prompts to
        rewrite. Other columns are ignored.

    Raises:
        EngineError: See `Judge`.

    Example:
        >>> score = reward("mean_hbpp")
        >>> better, cut = score(["two dog on couch sit"] * 2, ["two dogs on a couch", "dogs"])
        >>> better > cut
        True
    """
    judge = Judge(target, **options)

    def score(
        prompts: Sequence[Any],
        completions: Sequence[Any],
        original: Sequence[str] | None = None,
        **columns: Any,
    ) -> list[float]:
        rewards = []
        for before, after in zip(original or prompts, completions, strict=True):
            [verdict] = judge(_to_text(before), [_to_text(after)])
            rewards.append(0.5 * verdict.in_order if verdict.reason == SAME else verdict.score)
        return rewards

    score.__name__ = f"reward_{judge.target}"  # the name in trainers' logs
    return score


def _to_text(turn: Any) -> str:
    return str(turn if isinstance(turn, str) else turn[-1]["content"])
