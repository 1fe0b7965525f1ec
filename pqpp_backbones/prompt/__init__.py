"""The content of prompts as people type them, without syntax and quality tags."""
