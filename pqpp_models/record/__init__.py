"""Records of the training of predictors."""
