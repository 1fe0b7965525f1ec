"""Files: written beside and renamed, read as tables, named by their content."""
