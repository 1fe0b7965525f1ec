"""A predictor with a fine-tuned CLIP-like model."""

TASKS = ("generation", "retrieval")
AGGREGATIONS = ("threshold", "expected")
TUNINGS = ("frozen", "lora", "full")
