"""The web pages of a study: joining, rating and history; answers are on disk before "saved"."""
