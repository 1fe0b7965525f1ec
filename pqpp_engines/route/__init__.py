"""Send each prompt to the model whose predicted quality is worth its cost."""

from pqpp_engines.route.answers import Decision, RoutedAnswer
from pqpp_engines.route.router import Router
from pqpp_engines.route.routes import Account, Route, Rule

__all__ = ["Account", "Decision", "Route", "RoutedAnswer", "Router", "Rule"]
