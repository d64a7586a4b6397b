# SPDX-License-Identifier: Apache-2.0
"""Which replica advances next: each as soon as its own swap is done, whatever others do.

Replicas that wait for each other are partners: both of a pair, or all where each is evaluated with
the Hamiltonians of all.  Partners swap once all of them have advanced, and go on to the next
iteration at once.  So a device whose replicas are done early has work of the next iteration, and a
swap of two delays no third one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

Partners = tuple[int, ...]


class Turns:
    """The order in which replicas advance; for several threads.

    Parameters
    ----------
    count:
        Number of replicas.
    first, last:
        The iterations: from `first` to before `last`.
    ahead:
        Number of iterations by which a replica may be ahead of the iteration recorded next.
    partners_of:
        The sets of partners in an iteration; each replica is in one.
    """

    def __init__(
        self,
        count: int,
        first: int,
        last: int,
        ahead: int,
        partners_of: Callable[[int], Sequence[Partners]],
    ) -> None:
        self._iteration = [first] * count  # of each replica: that it does now or next
        self._waiting = set(range(count))  # for their turn to advance
        # Have advanced in an iteration, and wait for their partners.
        self._arrived: set[tuple[int, int]] = set()
        self._recorded, self._last, self._ahead = first, last, ahead
        self._partners_of = partners_of
        self._ended = False
        self._changed = threading.Condition()

    def take(self, group: Sequence[int], wait: bool = True) -> tuple[int, int] | None:
        """The replica of a group that advances now, and the iteration it does.

        None at the end, after a failure, or, unless it may `wait`, if no replica can.
        """
        with self._changed:
            while not self._ended:
                limit = min(self._last, self._recorded + 1 + self._ahead)
                able = [k for k in group if k in self._waiting and self._iteration[k] < limit]
                if able:
                    k = min(able, key=lambda k: (self._iteration[k], k))
                    self._waiting.remove(k)
                    return k, self._iteration[k]
                if not wait or all(self._iteration[k] >= self._last for k in group):
                    return None
                self._changed.wait()
            return None

    def arrive(self, k: int) -> Partners | None:
        """Notes that a replica has advanced; it and its partners, if all of them have."""
        with self._changed:
            iteration = self._iteration[k]
            self._arrived.add((iteration, k))
            partners = next(own for own in self._partners_of(iteration) if k in own)
            needed = {(iteration, one) for one in partners}
            if not self._arrived >= needed:
                return None
            self._arrived -= needed
            return partners

    def go_on(self, partners: Partners) -> None:
        """Notes that partners have swapped."""
        with self._changed:
            for k in partners:
                self._iteration[k] += 1
            self._waiting.update(partners)
            self._changed.notify_all()

    def wait_for(self, iteration: int) -> bool:
        """Waits until all replicas have done an iteration; False if they stop before it."""
        with self._changed:
            while not self._ended and iteration < self._last:
                if min(self._iteration) > iteration:
                    return True
                self._changed.wait()
            return False

    def recorded(self) -> None:
        """Notes that one more iteration has been recorded."""
        with self._changed:
            self._recorded += 1
            self._changed.notify_all()

    def stop(self) -> None:
        """Lets no replica begin an iteration that none has begun."""
        with self._changed:
            begun = [now + (k not in self._waiting) for k, now in enumerate(self._iteration)]
            self._last = max(begun)
            self._changed.notify_all()

    @contextmanager
    def ending_with_an_error(self) -> Iterator[None]:
        """After an error, no further work is begun."""
        try:
            yield
        except BaseException:
            self.end()
            raise

    def end(self) -> None:
        """Lets no replica begin anything more."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()
