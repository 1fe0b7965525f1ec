"""Predictors that need no training."""
