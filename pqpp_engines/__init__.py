"""Generate and retrieve images for prompts, route prompts to models, and rewrite prompts."""
