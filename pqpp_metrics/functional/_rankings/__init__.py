"""Code that the ranking metrics share: checked inputs, and documents in the order of rank."""
