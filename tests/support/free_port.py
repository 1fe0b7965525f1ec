"""A free port of this machine."""

import socket


def free_port() -> int:
    """Return the number of a port on which no process listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]
