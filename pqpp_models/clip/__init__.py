"""The predictor that sees the images: a CLIP-like model on (prompt, image) pairs."""
