"""How numbers and names are printed, in every document alike."""

from __future__ import annotations

NO_NUMBER = "–"


def words(name: str) -> str:
    """A name of the code as words: ``no_verdict`` is "no verdict"."""
    return name.replace("_", " ")


def number(value: float | None, unit: str = "share") -> str:
    """A quantity in its unit: three decimals, whole quality steps as they are, a dash where there is none."""
    if value is None:
        return NO_NUMBER
    whole = unit == "quality steps" and float(value).is_integer()
    return (f"{value:.0f}" if whole else f"{value:.3f}").replace("-", "−")


def count(value: int | None) -> str:
    """A count, with thousands apart; "not recorded" where there is none."""
    return "not recorded" if value is None else f"{value:,}"


def counted(value: int, thing: str) -> str:
    """A count of things: "1 task", "20 tasks"."""
    return f"{value:,} {thing}" if value == 1 else f"{value:,} {thing}s"


def money(amount: float, currency: str) -> str:
    """An amount: "USD 12.50", with more decimals where it is small."""
    return f"{currency} {amount:,.2f}" if amount >= 1 or amount == 0 else f"{currency} {amount:.2g}"


def percent(level: float) -> str:
    """A confidence level as a percentage: 0.95 is "95%"."""
    return f"{100 * level:g}%"
