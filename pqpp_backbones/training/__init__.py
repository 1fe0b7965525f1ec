"""What the training scripts share: options, the trainer, and what a card says of a run."""
