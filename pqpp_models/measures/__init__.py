"""Measures, which predict without training, in four families.

A family is a module or package here with a table ``MEASURES``, name to `Measure`, from which the
registry reads the names.
"""
