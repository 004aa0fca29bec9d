"""`python -m rag_core`."""

import sys

from rag_core.cli import main

sys.exit(main())
