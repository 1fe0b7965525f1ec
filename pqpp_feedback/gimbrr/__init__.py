"""GIMBRR's automated routines: whether an image shows the objects that its prompt names."""
