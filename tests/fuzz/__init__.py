"""Seeded attacks: any input must lead to a result or to a typed error of one line."""

import os

# Cases run in forks: the fork of a process whose libraries have threads can hang.
os.environ.setdefault("OMP_NUM_THREADS", "1")
