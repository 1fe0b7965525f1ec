"""Run by each kernel of the site at its start: a `%%bash` that hands on an output as a whole."""

import subprocess
import sys

from IPython.core.magic import register_cell_magic


@register_cell_magic
def bash(line, cell):
    """Run a cell in bash; a failure ends the page as an error does."""
    done = subprocess.run(["bash", *line.split()], input=cell.encode(), capture_output=True)
    sys.stdout.write(done.stdout.decode("utf-8"))
    sys.stderr.write(done.stderr.decode("utf-8"))
    done.check_returncode()
