"""Features of a prompt's words: how difficult they are, and whether they are English."""
