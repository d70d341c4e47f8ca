"""Statistics of readings: pure functions, columns in and Estimates out."""
