"""Shared code of the training scripts: recipes, data, saving and publishing."""
