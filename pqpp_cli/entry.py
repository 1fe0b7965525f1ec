# PYTHON_ARGCOMPLETE_OK
"""The entry point of the `pqpp` script: it handles Ctrl-C before other imports."""

from pqpp_cli.interrupts import handle_interrupts

handle_interrupts()

from pqpp_cli.main import main  # noqa: E402

__all__ = ["main"]
