"""HWPQ: a questionnaire from a language model, answers from one that sees."""
