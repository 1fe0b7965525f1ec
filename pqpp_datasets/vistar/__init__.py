"""VISTAR."""
