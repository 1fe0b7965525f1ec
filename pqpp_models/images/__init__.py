"""Images of rows, and what a CLIP-like model makes of them."""
