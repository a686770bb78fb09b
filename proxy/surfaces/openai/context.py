"""The former place of ``proxy/surfaces/context.py``, with which Bedrock's surfaces read their requests too."""

from proxy.surfaces.context import CONFIG_FIELD, read_context

__all__ = ["CONFIG_FIELD", "read_context"]
