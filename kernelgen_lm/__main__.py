"""``python -m kernelgen_lm`` is ``kernelgen-lm``: what launchers of several processes start."""

import sys

from kernelgen_lm.cli import main

if __name__ == "__main__":
    sys.exit(main())
