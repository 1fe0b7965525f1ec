"""What a checkpoint records of its training: rows, means from their parts, the held-out build."""
