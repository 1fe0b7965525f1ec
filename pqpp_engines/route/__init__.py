"""Sending each prompt to the model whose expected quality is worth its cost."""

from pqpp_engines.route.router import Decision, Router
from pqpp_engines.route.routes import Route, Rule

__all__ = ["Decision", "Route", "Router", "Rule"]
