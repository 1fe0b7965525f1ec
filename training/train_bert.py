"""The trainer of `pqpp train bert`, for `accelerate launch`."""

import sys

from pqpp_cli.entry import main

sys.exit(main(["train", "bert", *sys.argv[1:]]))
