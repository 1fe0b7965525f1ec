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

    profile = Path(app.srcdir) / "_build" / "ipython"
    place = profile / "profile_default" / "startup" / _STARTUP.name
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(_STARTUP, place)
    os.environ["IPYTHONDIR"] = str(profile)
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
