"""The core: what a claim, its evidence and a verdict are. Standard library only; no I/O, no clock, no await."""
