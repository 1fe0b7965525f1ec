"""Which of two images of a prompt is better, or neither."""
