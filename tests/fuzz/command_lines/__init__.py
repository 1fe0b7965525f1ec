"""Command lines of `pqpp` and of training scripts, with good, odd and hostile words and files."""
