"""Points, words, scores and a flag on each image, as in RichHF."""
