"""Reading prompts as people type them: their content, without syntax and quality tags."""
