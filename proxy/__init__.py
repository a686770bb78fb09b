"""Groundwarden: a guardrail proxy that passes a model's answer only when the documents support it."""

__version__ = "0.1.0"
