"""A progress bar of a command of many steps: `make watch COMMAND=<id> TENANT=acme`.

It asks `GET /commands/{id}`, as any client may, and ends with the command: 0 if that was
completed, 1 if it failed, also where it may be resumed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tools.http import Actor, Api
from tools.stack import NoStack

SECONDS = 0.5
RUNNING = "IN_PROGRESS"


class NotShown(RuntimeError):
    """The command cannot be read; the message says why."""


def moments(
    actor: Actor, command_id: str, *, sleep: Callable[[float], None] = time.sleep
) -> Iterator[dict[str, Any]]:
    """The command as it is now, and again, until it runs no more."""
    while True:
        answer = actor.get(f"/commands/{command_id}")
        if answer.status != 200:
            raise NotShown(f"{answer.status} {answer.code or ''}: {command_id} is not to be seen.")
        yield answer.body
        if answer.body["status"] != RUNNING:
            return
        sleep(SECONDS)


def watch(actor: Actor, command_id: str, console: Console) -> bool:
    """Draw the command's progress until its end; true if it was completed."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    last: dict[str, Any] = {}
    with Progress(*columns, console=console) as bar:
        task = bar.add_task(command_id, total=None)
        for last in moments(actor, command_id):
            bar.update(
                task,
                description=f"{last['operation']} {last['status']}",
                completed=last.get("done", 0),
                total=last.get("total"),
            )
    if "result" in last:
        console.print_json(data=last["result"])
    return bool(last["status"] == "COMPLETED")


def main() -> None:
    arguments = argparse.ArgumentParser(prog="make watch", description=__doc__)
    arguments.add_argument("--command", required=True)
    arguments.add_argument("--actor", default="")
    arguments.add_argument("--tenant", default="")
    chosen = arguments.parse_args()
    if not chosen.command:
        arguments.error("COMMAND= is needed: the id that a 202 answer names")
    try:
        actor = Api().actor(chosen.actor or "watcher", ["admin"], chosen.tenant or "acme")
        completed = watch(actor, chosen.command, Console())
    except (NoStack, NotShown) as error:
        sys.exit(str(error))
    sys.exit(0 if completed else 1)


if __name__ == "__main__":
    main()
