"""A predictor that sees the prompt and a collection of captions."""
