"""A collection of captions, and what it says of how a prompt will do."""
