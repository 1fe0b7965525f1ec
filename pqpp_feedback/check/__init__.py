"""Known answers on a user's machine: scenes of known truth, seen by the models that are named."""
