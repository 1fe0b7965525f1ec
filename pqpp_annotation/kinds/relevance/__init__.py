"""Relevance of images, by PQPP's four grades."""
