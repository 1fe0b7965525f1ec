"""Public functions and methods of the house, and what they may be called with."""
