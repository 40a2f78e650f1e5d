"""What a leaner transport under botocore would save: the trial behind ADR 13.

    python -m benchmarks.transport

Counts a warm create case by callgrind, with botocore's own HTTP session and with a few lines over
`http.client` that keep one connection.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.environments import HERE, OURS, prepare
from benchmarks.instructions import cost
from benchmarks.stub import stub


def main() -> None:
    prepare()
    lean = replace(OURS, module="lean_transport", path=(HERE / "trials", *OURS.path))
    with stub() as endpoint:
        plain, trial = cost(endpoint, OURS), cost(endpoint, lean)
    print(f"botocore's session  {plain.create / 1e6:.2f} million instructions")
    print(f"a lean session      {trial.create / 1e6:.2f} million instructions")


if __name__ == "__main__":
    main()
