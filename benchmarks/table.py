"""What the benchmarks share: fair rounds, tables in Markdown, and the machine they ran on."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median, quantiles


def machine() -> str:
    """Name the processor, its load and Python, on one line."""
    info = Path("/proc/cpuinfo")
    names = [line.partition(":")[2].strip() for line in _lines(info) if line.startswith("model name")]
    processor = names[0] if names else platform.processor() or platform.machine()
    load = f"load {os.getloadavg()[0]:.1f} at the start" if hasattr(os, "getloadavg") else "load unknown"
    return f"{processor}, {os.cpu_count()} cores, {load}; {platform.system()}, Python {platform.python_version()}"


def timed_s(call: Callable[[], object]) -> float:
    """Give the seconds that the call takes."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def in_rounds(contenders: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    """Measure each contender once a round: a slow moment of the machine then meets all. A first round is not kept."""
    samples: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds + 1):
        for name, measure in contenders.items():
            samples[name].append(measure())
    return {name: values[1:] for name, values in samples.items()}


def ratio(samples: Sequence[float], baseline: Sequence[float]) -> float:
    """Compare round by round, and give the median of the ratios."""
    return median(mine / theirs for mine, theirs in zip(samples, baseline, strict=True))


def percentile(samples: Sequence[float], percent: int) -> float:
    return quantiles(samples, n=100, method="inclusive")[percent - 1] if len(samples) > 1 else samples[0]


def print_samples(title: str, unit: str, samples: Mapping[str, Sequence[float]], baseline: str) -> None:
    """Print each contender's median, how far it went either way, and its ratio to the baseline."""
    rows = [
        [name, f"{median(values):.1f}", f"{min(values):.1f}", f"{max(values):.1f}", f"{ratio(values, against):.2f}"]
        for against in (samples[baseline],)
        for name, values in samples.items()
    ]
    print_table(title, [unit, "median", "least", "most", f"x {baseline}"], rows)


def print_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a Markdown table, the first column to the left and the others to the right."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    print(f"\n{title}\n")
    for row in (header, rule, *rows):
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        print(f"| {' | '.join(cells)} |")


def print_aim(what: str, measured: float, bound: str, *, met: bool, unit: str = "") -> None:
    """Say whether an aim was met: `bound` is words, as in 'at least 1.8'."""
    print(f"\n{'met' if met else 'MISSED'}: {what} {measured:.3g}{unit}, aim {bound}{unit}")


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []
