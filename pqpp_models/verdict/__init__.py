"""The verdict on a prompt: how hard it is among others, in one sentence with the reasons."""
