"""What this process saw of a few items lately: guesses that save a read, never decisions.

A plan that stands on a guess repeats it as a rule under STALE_READ; a wrong guess costs one
refused commit, whose old image corrects it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from holdfast.writes.plan import Key, Plan, Write

ITEMS_MAX = 256
AGE_SECONDS_MAX = 60.0


class Recent:
    """At most `ITEMS_MAX` images, none older than `AGE_SECONDS_MAX` of `clock`."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._born = clock()
        self._images: OrderedDict[Key, tuple[float, dict[str, Any]]] = OrderedDict()

    def get(self, key: Key) -> dict[str, Any] | None:
        """The image remembered for `key`, or None."""
        seen_at, image = self._images.get(key, (0.0, None))
        return image if image is not None and self._clock() - seen_at < AGE_SECONDS_MAX else None

    @property
    def young(self) -> bool:
        """Nothing that this process could have seen is old yet."""
        return self._clock() - self._born < AGE_SECONDS_MAX

    def put(self, key: Key, image: dict[str, Any]) -> None:
        self._images[key] = (self._clock(), image)
        self._images.move_to_end(key)
        if len(self._images) > ITEMS_MAX:
            self._images.popitem(last=False)

    def learn(self, plan: Plan) -> None:
        """After `plan` was committed: what it made of the items that it asks to remember."""
        for write in plan.writes:
            if write.key in plan.remember:
                self._learn(write)

    def _learn(self, write: Write) -> None:
        before = {} if write.verb == "create" else self.get(write.key)
        if before is not None:
            self.put(write.key, image_after(write, before))


def image_after(write: Write, before: dict[str, Any]) -> dict[str, Any]:
    """What a create or an update makes of the image `before`."""
    kept = {name: value for name, value in before.items() if name not in write.remove}
    sums = {name: kept.get(name, 0) + more for name, more in write.add.items()}
    return {**write.key.attributes, **kept, **write.item, **write.set, **sums}
