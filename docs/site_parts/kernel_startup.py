"""A start-up file of kernels that defines a `%%bash` whose output is not split."""

import subprocess
import sys

from IPython.core.magic import register_cell_magic


@register_cell_magic
def bash(line, cell):
    """Run a cell in bash; raise an error if the shell fails."""
    done = subprocess.run(["bash", *line.split()], input=cell.encode(), capture_output=True)
    sys.stdout.write(done.stdout.decode("utf-8"))
    sys.stderr.write(done.stderr.decode("utf-8"))
    done.check_returncode()
