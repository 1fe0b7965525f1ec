"""Models and rules that assess generated images, as a substitute for people."""
