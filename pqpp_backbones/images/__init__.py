"""Pretrained models that embed images and texts."""
