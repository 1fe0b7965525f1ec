"""Load and run text encoders."""
