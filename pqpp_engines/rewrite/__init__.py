"""Rewrite prompts so that they perform better, considering the predictor's uncertainty."""

from pqpp_engines.rewrite.judge import Judge as Judge
from pqpp_engines.rewrite.reward import reward as reward
from pqpp_engines.rewrite.rewriting import Writer as Writer
from pqpp_engines.rewrite.rewriting import write_study as write_study
