"""What the training scripts of the text predictors share; needs torch."""
