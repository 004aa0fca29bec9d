"""What a worker raises for a file that it will not read."""

from __future__ import annotations


class Refused(Exception):
    """The whole file cannot be read; `code` and the sentence go to the user."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code
