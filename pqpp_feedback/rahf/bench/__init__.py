"""RichHF's benchmark: figures, baselines, and the paper's four tables."""
