"""The trainer of `pqpp train text_ensemble`, for `accelerate launch`."""

import sys

from pqpp_cli.entry import main

sys.exit(main(["train", "text_ensemble", *sys.argv[1:]]))
