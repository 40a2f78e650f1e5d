"""Holdfast: every write proves its precondition.

Imports point one way: functions -> edge -> domain -> patterns -> writes.
"""
