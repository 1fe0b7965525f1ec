"""What a person would say of an image."""
