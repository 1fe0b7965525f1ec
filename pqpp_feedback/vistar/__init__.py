"""VISTAR's scores: six from an image's content, one from questions; and rankings by role."""
