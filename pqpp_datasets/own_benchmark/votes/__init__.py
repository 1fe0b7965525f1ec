"""People's votes: their files, their scale, and the table of them."""
