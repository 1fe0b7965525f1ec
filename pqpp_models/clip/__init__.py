"""The predictor that uses images: a CLIP-like model on (prompt, image) pairs."""

TASKS = ("generation", "retrieval")
AGGREGATIONS = ("threshold", "expected")
TUNINGS = ("frozen", "lora", "full")
