"""The trainer of `pqpp train correlation_cnn`, for `accelerate launch`."""

import sys

from pqpp_cli.entry import main

sys.exit(main(["train", "correlation_cnn", *sys.argv[1:]]))
