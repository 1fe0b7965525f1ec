"""Generate, search and route images for prompts, and rewrite prompts."""
