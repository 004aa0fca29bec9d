"""Weaviate: the server that we start, the schema, the chunks in it."""

import warnings

# The client switches on every warning of the process when it is imported; its users should not see them all.
with warnings.catch_warnings():
    import weaviate  # noqa: F401
