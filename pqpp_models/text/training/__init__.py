"""Training of the text predictors, which needs torch."""
