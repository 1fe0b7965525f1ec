"""Rewriting prompts so that they do better, trusting the predictor no further than it knows."""

from pqpp_engines.rewrite.judge import Judge, Verdict
from pqpp_engines.rewrite.meaning import meaning_lost

__all__ = ["Judge", "Verdict", "meaning_lost"]
