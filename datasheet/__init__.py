"""Judge Datasheet: the instrument sheet of an LLM judge.

The way of the data: bank → Stimulus → Trial → Request → Reply → Verdict → trial log → Readings → Estimate →
Characteristic → datasheet → JSON, HTML, PDF. The command line (``datasheet --help``) drives it; from Python the
entry points are the functions of :mod:`datasheet.workflows`.
"""

__all__ = ["__version__"]

__version__ = "0.1.0"
