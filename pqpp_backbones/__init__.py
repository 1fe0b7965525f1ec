"""Shared code of all models: pretrained encoders, checkpoints, chat, training."""

DTYPES = ("float32", "bfloat16", "float16")
"""The number formats of models."""
