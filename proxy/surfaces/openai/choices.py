"""The former place of ``proxy/surfaces/answers.py``, with which Bedrock's surfaces read the models' answers too."""

from proxy.surfaces.answers import Spelled, Watch, choices_of, clean, finishes, index_of, object_in, parts_of

__all__ = ["Spelled", "Watch", "choices_of", "clean", "finishes", "index_of", "object_in", "parts_of"]
