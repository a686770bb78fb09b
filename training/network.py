"""What both heads read of an encoder's hidden states: the same for training and for export."""

from __future__ import annotations

import torch

PARTS = 5
"""Vectors of the encoder's size that are read."""


def read(hidden: torch.Tensor, types: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Of hidden states (pairs, tokens, size), token types and mask (pairs, tokens): (pairs, parts times size).

    [CLS], the mean of either text's tokens, their difference and their product, as Reimers and Gurevych (2019) compare
    two embeddings: an encoder that has only embedded texts so far has nothing in [CLS], but these mean something from
    the first step.
    """
    second = (types * mask)[:, :, None].to(hidden.dtype)
    first = mask[:, :, None].to(hidden.dtype) - second
    one, other = ((hidden * part).sum(1) / part.sum(1) for part in (first, second))
    return torch.cat([hidden[:, 0], one, other, (one - other).abs(), one * other], 1)
