"""What executed cells print stands on the page as it was printed.

Two things would cut it: IPython's `%%bash` reads a process in pieces of 100 bytes and decodes each
alone, and MyST-NB ends every piece of a stream that it merges with a new line.
"""

import os
import shutil
from pathlib import Path

_STARTUP = Path(__file__).with_name("kernel_startup.py")


def prepare_kernels(app, config):
    """Give kernels a `%%bash` of whole outputs, and let streams be joined as they are."""
    from myst_nb.core import render

    home = Path(app.srcdir) / "_build" / "ipython"
    startup = home / "profile_default" / "startup"
    startup.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(_STARTUP, startup / _STARTUP.name)
    # A kernel's warning of its unencrypted port on this machine is no warning of the build.
    quiet = "c.IPKernelApp.log_level = 40\n"
    (startup.parent / "ipython_kernel_config.py").write_text(f"c = get_config()\n{quiet}", "utf-8")
    os.environ["IPYTHONDIR"] = str(home)
    render.coalesce_streams = joined_streams


def joined_streams(outputs):
    """Return a cell's outputs, the pieces of a stream as one where the first of them stood.

    >>> pieces = [{"output_type": "stream", "name": "stdout", "text": t} for t in ("a re", "d cat")]
    >>> joined_streams(pieces)
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
