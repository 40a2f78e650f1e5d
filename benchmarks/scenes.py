"""One peer before a real table: plays a scene whenever it is told to, and says how it went.

    python scenes.py PEER

It reads the name of a scene from each line of its input.
"""

import json
import os
import sys

from child import Context, create_case, submit

SCENES = {
    "create": create_case(1, "REG-1"),
    "replay": create_case(1, "REG-1"),
    "conflict": create_case(2, "REG-1"),
    "submit": submit("case-1", 3),
    "stale": submit("case-1", 4, version=1),
}


def play(handler, scene):
    try:
        return handler(SCENES[scene], Context)["statusCode"]
    except Exception as error:  # noqa: BLE001 -- what it raises is its answer
        return type(error).__name__


def main(peer):
    handler = __import__(peer).handler
    out = os.fdopen(int(os.environ["REPORT_TO"]), "w", buffering=1)
    for line in sys.stdin:
        print(json.dumps(play(handler, line.strip())), file=out)


if __name__ == "__main__":
    main(sys.argv[1])
