"""Which annotators to trust without a control group, and how reliable a benchmark's scores are."""
