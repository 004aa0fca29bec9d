"""The house itself: set up, started, looked after, saved and brought back."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from rag_core.cli.said import DONE, FAILED, opened, progress
from rag_core.settings import ROOT, Settings
from rag_core.workbench import backup as backups


def setup(_: argparse.Namespace) -> int:
    from rag_core.embedding.clip import find_clip
    from rag_core.embedding.weights import find_weights
    from rag_core.stores.weaviate.binary import find_server

    settings = Settings.from_env()
    print(f"weights   {find_weights(settings, progress)}")
    if settings.clip:
        print(f"clip      {find_clip(settings, progress)}")
    if settings.weaviate_url:
        print(f"weaviate  {settings.weaviate_url} (WEAVIATE_URL: none is started here)")
    else:
        print(f"weaviate  {find_server(settings, progress)}")
    return DONE


def serve(parsed: argparse.Namespace) -> int:
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(parsed.port)]
    os.chdir(ROOT)
    os.execv(sys.executable, [*command, "--server.address", parsed.host])


def doctor(parsed: argparse.Namespace) -> int:
    with opened() as workbench:
        parts = workbench.health()
    for part in parts:
        print(part.model_dump_json() if parsed.json else f"{'ok  ' if part.ok else 'look'} {part.part}: {part.summary}")
        if part.advice and not parsed.json:
            print(f"     {part.advice}")
    return DONE if all(part.ok for part in parts) else FAILED


def backup(parsed: argparse.Namespace) -> int:
    contents = backups.back_up(Settings.from_env().data_dir, Path(parsed.file))
    print(
        f"{parsed.file}: {len(contents.files):,} files, {contents.size / 1e6:,.1f} MB. Keep it as you keep your keys."
    )
    return DONE


def restore(parsed: argparse.Namespace) -> int:
    data_dir = Settings.from_env().data_dir
    contents = backups.restore(Path(parsed.file), data_dir)
    print(f"{len(contents.files):,} files are back in {data_dir}; its documents are indexed anew when the app starts.")
    return DONE
