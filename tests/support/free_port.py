"""A port of this machine that nobody listens at."""

import socket


def free_port() -> int:
    """Return one."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]
