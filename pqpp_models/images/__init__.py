"""The (prompt, image) pairs of rows."""
