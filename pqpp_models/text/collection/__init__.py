"""Collections of captions, and models of prompt features from them."""
