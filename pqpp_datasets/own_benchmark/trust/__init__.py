"""Whom to trust without a control group, and how far the scores of a benchmark can be relied on."""
