"""The web page on which a predictor is asked about prompts: `pqpp demo --serve`, and its Space."""

from pqpp_models.demo.page import serve_demo

__all__ = ["serve_demo"]
