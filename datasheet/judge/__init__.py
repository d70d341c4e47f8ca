"""Judges: whatever can be asked to compare two answers."""
