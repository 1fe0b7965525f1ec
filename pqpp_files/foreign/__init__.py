"""The one gate for bytes that others made: what is read here, no other file of the project reads.

Whatever such bytes do to a library ends in a `PqppError` of one line. Nothing is unpickled or run,
sizes and depths are bounded, and texts in files never name environment variables.
"""
