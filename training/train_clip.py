"""The trainer of `pqpp train clip`, for `accelerate launch`."""

import sys

from pqpp_cli.entry import main

sys.exit(main(["train", "clip", *sys.argv[1:]]))
