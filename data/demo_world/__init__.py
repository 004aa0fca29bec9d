"""The demo's world: InnovateCorp in the autumn of 2023, seen through seven documents."""

from collections.abc import Callable
from pathlib import Path

from demo_world import handbook, market, memo, press, report, roadmap, study

DOCUMENTS: dict[str, Callable[[Path], None]] = {
    "innovatecorp-q3-2023-report.pdf": report.make,
    "dataweave-press-release.pdf": press.make,
    "meridian-market-report.pdf": market.make,
    "project-titan-user-study.pdf": study.make,
    "product-roadmap-q3-2023.pdf": roadmap.make,
    "board-memo-scan.pdf": memo.make,
    "employee-handbook.pdf": handbook.make,
}
