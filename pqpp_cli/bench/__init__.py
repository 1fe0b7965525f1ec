"""`pqpp bench`: compare predictors on a benchmark, beside the published figures."""

USUAL = "predictors"
"""What `pqpp bench` does without a further word."""
