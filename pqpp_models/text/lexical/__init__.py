"""A linear predictor over n-grams."""
