"""Code that models share: pretrained encoders, checkpoints, chat models and training."""

DTYPES = ("float32", "bfloat16", "float16")
"""The number formats of models."""
