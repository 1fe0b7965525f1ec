"""The predictor on the similarities among the images generated or retrieved for a prompt."""
