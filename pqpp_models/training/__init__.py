"""Shared code of the training scripts of predictors."""
