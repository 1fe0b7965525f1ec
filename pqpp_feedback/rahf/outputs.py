"""What RAHF predicts, in the order of its outputs."""

from __future__ import annotations

from collections.abc import Sequence

from pqpp_models.errors import PredictorError

HEATMAPS = ("implausibility", "misalignment")
"""The two heatmaps; the columns of the dataset are these names with `_map`."""

SCORES = ("plausibility", "alignment", "aesthetics", "overall")
"""The four scores, each in 0 .. 1, higher is better."""

JOINT_OUTPUTS = ("misalignment", "alignment")
"""Those that image and prompt tell together; either alone tells the others, or much of them."""

KEYWORDS = "misaligned words"

TASKS = (
    *(f"{name} heatmap" for name in HEATMAPS),
    *(f"{name} score" for name in SCORES),
    KEYWORDS,
)
"""The seven outputs. The augmented-prompt variant puts one of these before the prompt; the paper's
section 4.1.2 gives the first one as its example, the others follow its form."""

KEYWORD_TASK = TASKS.index(KEYWORDS)

VARIANTS = ("multi_head", "augmented_prompt")
HEAD_STYLES = ("paper", "released")


def check_choice(name: str, value: object, allowed: Sequence[str]) -> None:
    """Refuse a value that is not among those allowed.

    Example:
        >>> check_choice("score", "beauty", SCORES)
        Traceback (most recent call last):
        pqpp_models.errors.PredictorError: `score` is 'beauty'; choose among plausibility, ...
    """
    if value not in allowed:
        raise PredictorError(f"`{name}` is {value!r}; choose among {', '.join(allowed)}")
