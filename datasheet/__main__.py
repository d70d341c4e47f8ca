"""``python -m datasheet``."""

from __future__ import annotations

from datasheet.cli import main

if __name__ == "__main__":
    main()
