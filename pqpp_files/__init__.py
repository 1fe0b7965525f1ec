"""Files: written to a temporary path and renamed, read as tables, identified by their content."""
