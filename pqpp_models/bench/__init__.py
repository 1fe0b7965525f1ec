"""Comparing predictors: the protocol, the tables, the report."""
