"""Build a benchmark from raw votes, in the columns of PQPP."""
