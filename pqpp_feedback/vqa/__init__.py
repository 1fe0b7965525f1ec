"""A model of images and text that says whether an image shows its prompt."""
