"""Ratings of images on a scale of whole numbers."""
