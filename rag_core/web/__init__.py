"""The web: what searches it, and the pages that a search finds. Whatever comes from there is hostile until read."""
