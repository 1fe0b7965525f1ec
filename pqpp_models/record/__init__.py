"""A checkpoint's record of its training: rows, means from their parts, the held-out build."""
