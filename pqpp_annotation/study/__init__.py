"""A study: its settings file, and its creation from a table of prompts and images."""

from pqpp_annotation.study.prompts import add_prompts, make_study
from pqpp_annotation.study.study import Study, read_study

__all__ = ["Study", "add_prompts", "make_study", "read_study"]
