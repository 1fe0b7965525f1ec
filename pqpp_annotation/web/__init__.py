"""The pages of a study: joining, judging, history; what is sent is on disk before it is "saved"."""
