"""Ranking the images of a prompt, best first; ties are allowed."""
