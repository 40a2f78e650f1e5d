"""Invariants as functions that return writes. Pure: no clock, chance, environment or client."""
