"""Keep the output of executed cells unchanged on the page.

Two things would split it: IPython's `%%bash` reads and decodes output in blocks of 100 bytes, and
MyST-NB adds a line break after each block that it merges.
"""

import os
import shutil
from pathlib import Path

_STARTUP = Path(__file__).with_name("kernel_startup.py")


def prepare_kernels(app, config):
    """Install the `%%bash` of `kernel_startup.py` in kernels, and `join_streams` in MyST-NB."""
    from myst_nb.core import render

    home = Path(app.srcdir) / "_build" / "ipython"
    startup = home / "profile_default" / "startup"
    startup.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(_STARTUP, startup / _STARTUP.name)
    # A kernel's warning of its unencrypted port on this machine is no warning of the build.
    quiet = "c.IPKernelApp.log_level = 40\n"
    (startup.parent / "ipython_kernel_config.py").write_text(f"c = get_config()\n{quiet}", "utf-8")
    os.environ["IPYTHONDIR"] = str(home)
    render.coalesce_streams = join_streams


def join_streams(outputs):
    """Return a cell's outputs with the blocks of each stream joined, at the position of the first.

    >>> pieces = [{"output_type": "stream", "name": "stdout", "text": t} for t in ("a re", "d cat")]
    >>> join_streams(pieces)
    [{'output_type': 'stream', 'name': 'stdout', 'text': 'a red cat'}]
    """
    joined, streams = [], {}
    for output in outputs:
        name = output["name"] if output["output_type"] == "stream" else None
        if name in streams:
            streams[name]["text"] += output["text"]
        else:
            joined.append(type(output)(output))
            if name:
                streams[name] = joined[-1]
    return joined
