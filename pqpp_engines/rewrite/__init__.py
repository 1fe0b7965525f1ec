"""Rewriting prompts so that they do better, trusting the predictor no further than it knows."""

from pqpp_engines.rewrite.expansion import Synonyms
from pqpp_engines.rewrite.judge import Judge, RewriteVerdict
from pqpp_engines.rewrite.likeness import shared_error
from pqpp_engines.rewrite.meaning import meaning_lost
from pqpp_engines.rewrite.study import write_study
from pqpp_engines.rewrite.writer import Writer

__all__ = [
    "Judge",
    "RewriteVerdict",
    "Synonyms",
    "Writer",
    "meaning_lost",
    "shared_error",
    "write_study",
]
