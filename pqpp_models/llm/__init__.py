"""A language model that is asked how well prompts will do, with judged examples."""
