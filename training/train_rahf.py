"""The trainer of `pqpp train rahf`, for `accelerate launch`."""

import sys

from pqpp_cli.entry import main

sys.exit(main(["train", "rahf", *sys.argv[1:]]))
