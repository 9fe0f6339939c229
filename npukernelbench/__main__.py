"""``python -m npukernelbench`` is ``npukb``."""

import sys

from npukernelbench.cli import main

if __name__ == "__main__":
    sys.exit(main())
