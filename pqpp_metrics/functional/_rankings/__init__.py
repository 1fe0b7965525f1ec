"""Checked inputs, and documents in the order of rank, which the ranking metrics share."""
