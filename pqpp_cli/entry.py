# PYTHON_ARGCOMPLETE_OK
"""What the `pqpp` script imports: it minds Ctrl-C before it imports anything else."""

from pqpp_cli.interrupts import arm

arm()

from pqpp_cli.main import main  # noqa: E402

__all__ = ["main"]
