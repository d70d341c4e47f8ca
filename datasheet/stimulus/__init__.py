"""Task banks and the graded stimuli that are built from them; pure, and deterministic in (bank, design, seed)."""
