"""``python -m proxy``: the same command as ``groundwarden``."""

import sys

from proxy.cli import main

if __name__ == "__main__":
    sys.exit(main())
