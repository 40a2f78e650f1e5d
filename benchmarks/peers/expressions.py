"""Condition and update expressions as text, for peers without a builder of their own."""

ABSENT = "attribute_not_exists(PK)"


def of_change(change):
    """Update expression, condition expression, names, and plain values of a change."""
    names, values = {}, {}
    sets = [_pair(names, values, "s", *pair) for pair in change.new.items()]
    tests = [_pair(names, values, "e", *pair) for pair in change.expected.items()]
    return f"SET {', '.join(sets)}", " AND ".join(tests), names, values


def _pair(names, values, prefix, name, value):
    placeholder = f"{prefix}{len(names)}"
    names[f"#{placeholder}"], values[f":{placeholder}"] = name, value
    return f"#{placeholder} = :{placeholder}"
