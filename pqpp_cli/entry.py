# PYTHON_ARGCOMPLETE_OK
"""The entry point of the `pqpp` script: it handles Ctrl-C before other imports."""

import sys

from pqpp_cli.interrupts import handle_interrupts

handle_interrupts()
sys.unraisablehook = lambda _: None  # hides errors of libraries' clean-up, as on a full disk

from pqpp_cli.main import main  # noqa: E402

__all__ = ["main"]
