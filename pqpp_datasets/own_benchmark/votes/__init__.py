"""Votes of people as they come: their files, their scale, and what they say of each image."""
