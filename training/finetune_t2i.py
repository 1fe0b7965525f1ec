"""The trainer of `pqpp train t2i`, for `accelerate launch`."""

import sys

from pqpp_cli.entry import main

sys.exit(main(["train", "t2i", *sys.argv[1:]]))
