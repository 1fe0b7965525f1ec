"""What the predictors that see only a prompt share."""
