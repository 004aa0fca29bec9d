"""What the full pass gets right on pages labelled by hand: `python -m benchmarks.parse_quality tables figures ocr`."""

from __future__ import annotations

import argparse
from importlib import import_module

from benchmarks.table import machine

PARTS = ("tables", "figures", "ocr")


def main() -> None:
    """Measure the parts named, each a module beside this one whose `main` prints."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("parts", nargs="*", choices=PARTS, default=[], help="what to measure; all without")
    print(machine())
    for part in asked.parse_args().parts or PARTS:
        import_module(f"benchmarks.parse_quality.{part}").main()


if __name__ == "__main__":
    main()
