"""The stacks that a stage consists of; `app.py` puts them together."""
