"""A ridge head on the shipped network, fitted to a user's scores in closed form."""
