"""Weaviate: the server that is started for you, its schema, and the chunks in it."""
