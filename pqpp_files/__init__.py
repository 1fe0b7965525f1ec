"""Write files atomically, read and write tables, and check and process untrusted input."""
