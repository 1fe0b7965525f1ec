"""Shared code of the training scripts: options, the trainer, and entries for the card."""
