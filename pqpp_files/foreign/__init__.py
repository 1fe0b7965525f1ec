"""Readers of untrusted files; no other module of the project reads these formats.

Any failure of a library becomes a one-line `PqppError`. Nothing is unpickled or executed, sizes and
depths are bounded, and texts in files never name environment variables.
"""
