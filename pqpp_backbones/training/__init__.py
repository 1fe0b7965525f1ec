"""What the training scripts share: options, the trainer, and the facts for a card."""
