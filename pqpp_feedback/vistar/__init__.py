"""VISTAR's scores: six from an image's content and one from questions; rankings by role."""
