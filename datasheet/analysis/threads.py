"""Threads of the linear algebra library."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import ThreadpoolController

_THREADS = ThreadpoolController()


@contextmanager
def one_thread() -> Iterator[None]:
    """The matrices are small: threads of the linear algebra library would wait for each other longer than compute."""
    with _THREADS.limit(limits=1, user_api="blas"):
        yield
