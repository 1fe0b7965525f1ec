"""A complete small study on drawn pictures, half done by people made up, to look at and to try."""

from pqpp_annotation.demo.demo import demo, example_study, make_demo

__all__ = ["demo", "example_study", "make_demo"]
