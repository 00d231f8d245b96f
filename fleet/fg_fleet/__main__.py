"""`python -m fg_fleet`."""

import sys

from fg_fleet.cli import main

sys.exit(main())
