"""Named child generators: one seed, and each purpose its own independent stream."""

from __future__ import annotations

import hashlib

import numpy as np


def child_rng(seed: int, *names: str | int) -> np.random.Generator:
    """A generator for one named purpose: the same seed and names give the same draws, whatever else was drawn."""
    digest = hashlib.sha256("\x00".join(map(str, (seed, *names))).encode()).digest()
    return np.random.default_rng(np.frombuffer(digest, dtype=np.uint32))
