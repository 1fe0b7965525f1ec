"""A checkpoint's record of its training: rows, means of targets, and a held-out version."""
