"""The training loop, its options, its checkpoints and what a card tells of it."""
