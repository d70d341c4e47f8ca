"""How numbers and names are printed, in every document alike."""

from __future__ import annotations

NO_NUMBER = "–"
_LEAST_P = 0.0001


def words(name: str) -> str:
    """A name of the code as words: ``no_verdict`` is "no verdict"."""
    return name.replace("_", " ")


def number(value: float | None, unit: str = "share") -> str:
    """A quantity in its unit: three decimals, whole quality steps as they are, a dash where there is none."""
    if value is None:
        return NO_NUMBER
    whole = unit == "quality steps" and float(value).is_integer()
    return (f"{value:.0f}" if whole else f"{value:.3f}").replace("-", "−")


def p_value(p: float | None) -> str:
    """A p value with two significant digits; below 0.0001 it rests on a tail that no approximation reaches."""
    if p is None:
        return NO_NUMBER
    return f"{p:#.2g}" if p >= _LEAST_P else f"< {_LEAST_P:.4f}"


def p_phrase(p: float | None) -> str:
    """The same in a sentence: "p = 0.012", "p < 0.0001"."""
    text = p_value(p)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def count(value: int | None) -> str:
    """A count, with thousands apart; "not recorded" where there is none."""
    return "not recorded" if value is None else f"{value:,}"


def counted(value: int, thing: str) -> str:
    """A count of things: "1 task", "20 tasks"."""
    return f"{value:,} {thing}" if value == 1 else f"{value:,} {thing}s"


def percent(level: float) -> str:
    """A confidence level as a percentage: 0.95 is "95%"."""
    return f"{100 * level:g}%"
