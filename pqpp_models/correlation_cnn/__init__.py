"""A predictor with a CNN on the similarities among the images of a prompt."""
