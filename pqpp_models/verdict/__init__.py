"""Verdicts on prompts: how hard they are, and why."""
