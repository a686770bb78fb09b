"""Policies as data: their schema, and the folder they are loaded from."""
