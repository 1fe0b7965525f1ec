"""Running a text encoder."""
