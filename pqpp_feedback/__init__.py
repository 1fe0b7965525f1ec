"""Models and rules that assess generated images as people would."""
