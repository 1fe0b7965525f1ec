"""Reading prompts as people type them: what shows on the picture, apart from syntax and tails."""
