"""Two runs that write the same files at one time."""

import time
from concurrent.futures import ThreadPoolExecutor


def run_at_once(function, *arguments):
    """Call a function with each argument, all at one time; return the results in their order."""
    with ThreadPoolExecutor(len(arguments)) as pool:
        return list(pool.map(function, arguments))


def delay_writes(monkeypatch, owner, name, get_delay):
    """Make a function wait before it writes, as long as `get_delay` says of its arguments."""
    write = getattr(owner, name)

    def write_late(*arguments):
        time.sleep(get_delay(*arguments))
        return write(*arguments)

    monkeypatch.setattr(owner, name, write_late)
