"""``python -m kernelgen_lm``, which is what launchers of several processes start."""

from kernelgen_lm.cli import main

raise SystemExit(main())
