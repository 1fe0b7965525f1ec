"""The web page of a predictor: `pqpp demo --serve`, and its Space."""

from pqpp_models.demo.page import serve_demo

__all__ = ["serve_demo"]
