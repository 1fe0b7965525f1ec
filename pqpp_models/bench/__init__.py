"""Comparison of predictors: protocol, tables and report."""
