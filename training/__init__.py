"""The training scripts, installed as `pqpp_training`."""
