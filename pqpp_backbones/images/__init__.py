"""Models that embed images and texts."""
