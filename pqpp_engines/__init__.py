"""Images for prompts: which model a prompt goes to, and what its answers cost."""

from pqpp_engines.ray_data import ray_predict as ray_predict
