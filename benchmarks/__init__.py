"""Counts and ratios of this service beside what else a team might write."""
