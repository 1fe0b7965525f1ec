"""The verdict on a prompt: how hard it is among others, in a sentence, and what costs it most."""
