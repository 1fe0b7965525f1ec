"""The shipped predictor: a small network over words."""
