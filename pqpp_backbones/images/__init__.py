"""Images as models take them, and models that embed them beside texts."""
