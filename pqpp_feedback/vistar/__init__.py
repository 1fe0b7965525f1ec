"""Scores after VISTAR: six from what an image shows, one from questions and answers, and roles."""
