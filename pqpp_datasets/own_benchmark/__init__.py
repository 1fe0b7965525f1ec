"""A benchmark of one's own from raw judgments, in the columns of PQPP."""
