"""Automated assessors of generated images: what they have in common, and how they are run."""
