"""People's votes and preferences, and the scales of their labels."""
