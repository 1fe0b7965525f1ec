"""A free port of this machine."""

import socket


def find_free_port() -> int:
    """Return the number of a port on which no process listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]
