"""Images for prompts: which model a prompt goes to, and what its answers cost."""
