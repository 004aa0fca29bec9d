"""`python -m rag_core`."""

import signal
import sys

# Ctrl-C while all is still being imported just ends it; whoever started this deaf to it keeps it so.
heeded = signal.getsignal(signal.SIGINT) is signal.default_int_handler
if heeded:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

from rag_core.cli import main  # noqa: E402

if heeded:
    signal.signal(signal.SIGINT, signal.default_int_handler)
sys.exit(main())
