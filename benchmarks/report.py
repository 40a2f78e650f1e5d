"""Writes what a run found: `results.json`, and the tables and the plot of `docs/performance.md`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tools.paths import ROOT

RESULTS = ROOT / "benchmarks" / "results.json"
PAGE = ROOT / "docs" / "performance.md"
PLOT = ROOT / "docs" / "performance.svg"
BAR, ROW, LEFT, WIDTH = 14, 46, 290, 330
COLOURS = {"init and first command": "#4269d0", "each warm command": "#efb118"}
Row = Mapping[str, Any]


def write(budgets: Sequence[Row], peers: Sequence[Row]) -> None:
    results = {"budgets": list(budgets), "peers": list(peers)}
    RESULTS.write_text(json.dumps(results, indent=2) + "\n")
    PLOT.write_text(_plot(peers))
    page = PAGE.read_text()
    for name, table in (("budgets", _budgets(budgets)), ("peers", _peers(peers)),
                        ("scenes", _scenes(peers)), ("ahead", _ahead(peers))):  # fmt: skip
        page = _replaced(page, name, table)
    PAGE.write_text(page)


def _replaced(page: str, name: str, text: str) -> str:
    """The page with what stands between the two marks of `name` replaced."""
    begin, end = f"<!-- {name}: written by make bench -->\n", f"<!-- end of {name} -->"
    head, _, rest = page.partition(begin)
    _, _, tail = rest.partition(end)
    if not tail:
        raise ValueError(f"{PAGE.name} has no place for {name}")
    return f"{head}{begin}{text}\n{end}{tail}"


def _budgets(rows: Iterable[Row]) -> str:
    lines = [(row["name"], _limit(row), row["measured"], _verdict(row)) for row in rows]
    return _table(("what", "budget", "measured", ""), lines)


def _limit(row: Row) -> str:
    if "budget" not in row:
        return "none"
    sign = "≥" if row.get("at_least") else "≤"
    stretch = f", stretch {row['stretch']}" if "stretch" in row else ""
    return f"{sign} {row['budget']}{stretch}"


def _verdict(row: Row) -> str:
    if "budget" not in row:
        return ""
    verdict = "met" if row["met"] else "**not met**"
    if "stretch" in row:
        verdict += ", and the stretch" if row["measured"] <= row["stretch"] else ", stretch not"
    return verdict


def _peers(peers: Iterable[Row]) -> str:
    lines = [
        (
            peer["title"],
            f"{peer['first'] / 1e6:.0f}",
            f"{peer['create'] / 1e6:.2f}",
            f"{peer['submit'] / 1e6:.2f}",
            f"{peer['kilobytes'] / 1024:.0f}",
            peer["modules"],
            f"{peer['cpu_first']:.2f}",
            f"{peer['cpu_create']:.2f}",
        )
        for peer in peers
    ]
    head = ("", "first", "create", "submit", "MB", "modules", "CPU first", "CPU create")
    return _table(head, lines)


def _scenes(peers: Iterable[Row]) -> str:
    scenes = ("create", "replay", "conflict", "submit", "stale")
    lines = [
        (
            peer["title"],
            *(f"{peer['requests'][s]}: {peer['answers'][s]}" for s in scenes),
            f"{peer['units']['create']:g} / {peer['units']['submit']:g}",
        )
        for peer in peers
    ]
    return _table(("", *scenes, "units"), lines)


def _ahead(peers: Sequence[Row]) -> str:
    """Each count in which somebody does better than we, in words."""
    ours = peers[0]
    counts = {
        "the first command": "first",
        "a warm create": "create",
        "a warm submission": "submit",
        "memory": "kilobytes",
    }
    lines = []
    for what, key in counts.items():
        better = [f"{p['name']} ({p[key] / ours[key]:.2f})" for p in peers if p[key] < ours[key]]
        lines.append(f"- {what}: {', '.join(better) or 'nobody'}")
    return "\n".join(lines)


def _table(head: Sequence[object], lines: Iterable[Sequence[object]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in rows)


def _plot(peers: Sequence[Row]) -> str:
    """Instructions of the first and of each later create, of those of the typical handler."""
    typical = next(peer for peer in peers if peer["name"] == "typical")
    parts = []
    for place, peer in enumerate(peers):
        top = 40 + place * ROW
        parts.append(_text(LEFT - 10, top + BAR + 4, peer["name"], "end"))
        for offset, (what, key) in enumerate(zip(COLOURS, ("first", "create"), strict=True)):
            share = peer[key] / typical[key]
            y, fill = top + offset * (BAR + 3), COLOURS[what]
            size = f'width="{share * WIDTH:.0f}" height="{BAR}"'
            parts.append(f'<rect x="{LEFT}" y="{y}" {size} fill="{fill}"/>')
            parts.append(_text(LEFT + share * WIDTH + 6, y + BAR - 3, f"{share:.2f}", "start"))
    for place, (what, fill) in enumerate(COLOURS.items()):
        x = LEFT + place * 170
        parts.append(f'<rect x="{x}" y="12" width="12" height="12" fill="{fill}"/>')
        parts.append(_text(x + 18, 22, what, "start"))
    size = f'width="{LEFT + WIDTH + 60}" height="{50 + len(peers) * ROW}"'
    font = 'font-family="sans-serif" font-size="12" fill="#333"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font}>'
    ground = '<rect width="100%" height="100%" fill="white"/>'
    return "\n".join([head, ground, *parts, "</svg>", ""])


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}">{text}</text>'


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT))
