"""The datasheet: from estimates to JSON, HTML, PDF and terminal."""
