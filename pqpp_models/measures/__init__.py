"""Measures, which predict without training, in four families of modules.

Each family is a module of this package with a table ``MEASURES``, which maps names to `Measure`
objects; the registry reads the names from it.
"""
