"""The target `alignment`: how often people would say that an image shows what the prompt says."""
