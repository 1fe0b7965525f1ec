"""The `pqpp` command: thin, one file a group of commands."""
