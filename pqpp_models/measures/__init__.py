"""Predictors that need no training: four families of measures.

A family is a module or package here with a table ``MEASURES``, name to `Measure`, from which the
registry reads the names.
"""
