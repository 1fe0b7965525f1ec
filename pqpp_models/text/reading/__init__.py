"""Features of the words of prompts."""
