"""The images of a prompt in an order, the best first; equals may share a place."""
