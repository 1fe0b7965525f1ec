"""`python -m pqpp_cli`, as launchers of several processes start it, is `pqpp`."""

import sys

from pqpp_cli.entry import main

sys.exit(main())
