"""Models and rules that give feedback on images, as people would."""
