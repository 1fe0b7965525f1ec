"""Seeded attacks: any input, and only a result or one typed line may come."""

import os

# Cases run in forks: a fork of a process whose libraries have threads waits for them for ever.
os.environ.setdefault("OMP_NUM_THREADS", "1")
