"""`python -m polystream`."""

import sys

from polystream.cli import main

sys.exit(main())
