"""Make the demo documents: seven PDFs of one invented company world, the same bytes on every run and machine."""

from __future__ import annotations

import argparse
from pathlib import Path

from demo_world import DOCUMENTS


def main() -> None:
    """Write the PDFs into the folder that `--out` names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "demo", help="folder for the PDFs")
    folder: Path = parser.parse_args().out
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in DOCUMENTS.items():
        make(folder / name)
        print(f"{name}: {(folder / name).stat().st_size / 1024:.0f} kB")


if __name__ == "__main__":
    main()
