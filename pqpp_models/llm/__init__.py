"""A language model that predicts how well prompts will do, from rated examples."""
