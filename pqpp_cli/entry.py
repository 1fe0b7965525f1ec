# PYTHON_ARGCOMPLETE_OK
"""The entry point of the `pqpp` script: it handles Ctrl-C before other imports."""

import sys

from pqpp_cli.interrupts import handle_interrupts, repeat_signal

handle_interrupts()
sys.unraisablehook = repeat_signal

from pqpp_cli.main import main  # noqa: E402

__all__ = ["main"]
