"""A Hugging Face Hub on loopback, for tests that push and pull for real.

In a test:

    with local_hub.serve() as hub:
        run_python("...", tmp_path, **hub.environment(tmp_path / "home"))
"""

from .faults import Fault, Faults
from .messages import Account
from .server import DEFAULT_ACCOUNTS, LocalHub, serve

__all__ = ["DEFAULT_ACCOUNTS", "Account", "Fault", "Faults", "LocalHub", "serve"]
