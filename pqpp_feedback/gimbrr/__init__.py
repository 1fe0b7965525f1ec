"""GIMBRR's automated routines: which objects a prompt names, and how many, an image shows."""
