"""What the models of all kinds share: pretrained encoders, checkpoints, chat, training."""
