"""Text to vectors, on this machine and without torch."""
