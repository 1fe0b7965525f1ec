"""What the training scripts share: recipes, data, the loop, grid search, publishing."""
