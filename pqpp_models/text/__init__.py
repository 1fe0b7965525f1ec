"""Predictors that see the text of a prompt and nothing else."""
