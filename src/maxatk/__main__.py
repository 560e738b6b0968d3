"""``python -m maxatk`` is the ``maxatk`` command."""

import sys

from maxatk.cli import main

sys.exit(main())
