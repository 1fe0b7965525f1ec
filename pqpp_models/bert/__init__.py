"""A predictor with a fine-tuned text encoder."""

POOLINGS = ("cls", "pooler", "mean")
