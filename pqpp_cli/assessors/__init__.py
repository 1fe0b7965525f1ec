"""The options of each assessor of `pqpp assess`."""
