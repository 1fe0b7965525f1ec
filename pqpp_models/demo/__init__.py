"""The web demo of a predictor, for `pqpp demo --serve` and for Spaces."""

from pqpp_models.demo.page import serve_demo

__all__ = ["serve_demo"]
