"""Collections of captions, and models whose features come from them."""
