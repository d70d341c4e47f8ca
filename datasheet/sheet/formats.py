"""How numbers and names are printed, in every document alike."""

from __future__ import annotations

NO_NUMBER = "–"
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


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
    """A p value with two significant digits."""
    if p is None:
        return NO_NUMBER
    if p == 0:
        return "0"
    if p >= 0.0001:
        return f"{p:#.2g}"
    mantissa, exponent = f"{p:.1e}".split("e")
    return f"{mantissa} × 10{str(int(exponent)).translate(_SUPERSCRIPTS)}"


def count(value: int | None) -> str:
    """A count, with thousands apart; "not recorded" where there is none."""
    return "not recorded" if value is None else f"{value:,}"


def counted(value: int, thing: str) -> str:
    """A count of things: "1 task", "20 tasks"."""
    return f"{value:,} {thing}" if value == 1 else f"{value:,} {thing}s"


def percent(level: float) -> str:
    """A confidence level as a percentage: 0.95 is "95%"."""
    return f"{100 * level:g}%"
