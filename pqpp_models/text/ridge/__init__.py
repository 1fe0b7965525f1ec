"""A ridge head on the shipped network, fitted to anybody's scores in closed form."""
