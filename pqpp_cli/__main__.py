"""`python -m pqpp_cli`, as launchers of several processes start it, is `pqpp`."""

import sys

from pqpp_cli.entry import main

if __name__ == "__main__":  # whoever walks the modules imports this one
    sys.exit(main())
