"""Inputs of metrics from files: tables joined by ids, runs and relevance judgments."""
