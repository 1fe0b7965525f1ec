"""A predictor with a language model."""
