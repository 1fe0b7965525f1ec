"""The `pqpp` command line: a thin layer, with one file for each group of commands."""
