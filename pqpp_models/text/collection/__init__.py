"""A collection of captions, and a model of its prompt features."""
