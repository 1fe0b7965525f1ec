"""Predictors that are fitted to a user's scores by ridge regression."""
