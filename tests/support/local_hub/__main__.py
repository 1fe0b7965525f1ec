"""Run the Hub as a process; it says its address in one line of JSON and ends with its input.

Other processes set faults and list requests at the path `server.CONTROL`.
"""

import argparse
import json
import sys
from pathlib import Path

from . import DEFAULT_ACCOUNTS, serve


def main() -> None:
    """Serve until standard input is closed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, help="where content is kept; in memory if left out")
    parser.add_argument("--port", type=int, default=0, help="any free one if left out")
    arguments = parser.parse_args()
    with serve(arguments.folder, port=arguments.port) as hub:
        print(json.dumps({"url": hub.url, "tokens": list(DEFAULT_ACCOUNTS)}), flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
