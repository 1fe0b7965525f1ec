"""Whom a generator serves: angles weighted by role, and scores beside people's choices."""
