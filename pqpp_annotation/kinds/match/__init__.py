"""Whether images match their prompts, yes or no, as GIMBRR asks."""
