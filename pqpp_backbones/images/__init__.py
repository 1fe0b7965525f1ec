"""Images as input of models, and models that embed images and texts."""
