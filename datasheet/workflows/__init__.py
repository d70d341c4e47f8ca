"""Workflows: one short file a command, the only places where the rooms meet."""
