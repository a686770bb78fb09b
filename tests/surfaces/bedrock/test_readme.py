"""The README's table of fields holds every field of AWS's service model."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from botocore.session import get_session

README = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")
TABLES = README.partition("### Bedrock, field by field")[2].partition("\n## ")[0]
OPERATIONS = {
    "bedrock-runtime": ["ApplyGuardrail", "ConverseStream", "InvokeModel", "InvokeModelWithResponseStream"],
    "bedrock": ["ListGuardrails", "GetGuardrail"],
}


def _names(shape: Any, seen: set[str]) -> set[str]:
    """The names of all members in a shape."""
    if shape.name in seen or getattr(shape, "is_document_type", False):
        return set()
    seen.add(shape.name)
    if shape.type_name == "structure":
        return set(shape.members).union(*(_names(member, seen) for member in shape.members.values()))
    inner = {"list": "member", "map": "value"}.get(shape.type_name)
    return _names(getattr(shape, inner), seen) if inner else set()


@pytest.mark.parametrize(("service", "operation"), [(name, one) for name, all_ in OPERATIONS.items() for one in all_])
def test_every_field_is_in_the_table(service: str, operation: str):
    """Each field of each operation's input is told to be honoured, passed on, ignored or refused."""
    model = get_session().get_service_model(service).operation_model(operation)
    told = set(re.findall(r"`([A-Za-z0-9]+)`", TABLES))
    assert _names(model.input_shape, set()) - told == set()
