"""The benchmarks, as Hugging Face datasets: importing this makes `load_dataset("pqpp")` resolve."""

from pqpp_datasets.registration import register

register()
