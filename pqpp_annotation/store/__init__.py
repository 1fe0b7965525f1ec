"""The database of a study: its tables, and the few functions that read and write them."""
