"""The limits of the flags, as configured."""

from __future__ import annotations

from datasheet.analysis.profile import Limits
from datasheet.config import Config
from datasheet.errors import UsageError


def configured_limits(config: Config) -> Limits:
    """The default limits with those of ``datasheet.toml`` in their place.

    Raises
    ------
    UsageError
        A limit that does not exist.
    """
    known = Limits().as_dict()
    unknown = sorted(set(config.limits) - set(known))
    if unknown:
        raise UsageError(f"datasheet.toml: no limit {unknown[0]!r}: the limits are {', '.join(known)}")
    return Limits(**config.limits)  # type: ignore[arg-type]
