"""The trainer of `pqpp train static`, for `accelerate launch`."""

import sys

from pqpp_cli.entry import main

sys.exit(main(["train", "static", *sys.argv[1:]]))
