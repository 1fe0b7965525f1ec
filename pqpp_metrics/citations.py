"""The sources of the metrics, as the evaluate modules cite them."""

PQPP = (
    "Poesina, Costache, Chifu, Mothe and Ionescu, "
    '"PQPP: A Joint Benchmark for Text-to-Image Prompt and Query Performance Prediction", '
    "CVPR 2025, arXiv:2406.04746"
)
