"""People's judgments of images: from an invitation to the files that `pqpp build` reads."""
