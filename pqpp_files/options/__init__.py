"""Typed and checked options of trainers, studies and commands."""
