"""How many calls are in flight: fewer where they time out, as at a server that answers a few at a time."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

_ROUNDS_BEFORE_TOO_MANY = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A call in flight: its number, and how many answers had come before it was sent."""

    number: int
    answers_before: int


class Slots:
    """So many calls at a time at most, and fewer after a time-out.

    By Little's law a server holds as many calls in flight, within the time that they may take, as it answers in that
    time; half of the present limit is the other bound. After each full round of answers there is one more, or after
    several rounds where so many have timed out before. Calls that were in flight together time out together: only one
    that was sent after the last reduction says that there are still too many.
    """

    def __init__(self, most: int) -> None:
        self.limit = most
        self._most = most
        self._too_many = most + 1
        self._in_circulation = most
        self._free = asyncio.Semaphore(most)
        self._sent = self._answers = self._answers_in_a_row = 0
        self._last_of_too_many = 0

    async def take(self) -> Turn:
        """Wait for a slot."""
        await self._free.acquire()
        self._sent += 1
        return Turn(number=self._sent, answers_before=self._answers)

    def give_back(self) -> None:
        """Let the next call have the slot, unless there are to be fewer."""
        if self._in_circulation > self.limit:
            self._in_circulation -= 1
        else:
            self._free.release()

    def timed_out(self, turn: Turn) -> None:
        """A call had no answer in time."""
        self._answers_in_a_row = 0
        if turn.number <= self._last_of_too_many:
            return
        self._last_of_too_many = self._sent
        self._too_many = self.limit
        self.limit = max(1, min(self.limit // 2, self._answers - turn.answers_before))

    def answered(self) -> None:
        """A call had an answer in time, whatever it says."""
        self._answers += 1
        self._answers_in_a_row += 1
        rounds = 1 if self.limit + 1 < self._too_many else _ROUNDS_BEFORE_TOO_MANY
        if self.limit == self._most or self._answers_in_a_row < rounds * self.limit:
            return
        self._answers_in_a_row = 0
        self.limit += 1
        if self._in_circulation < self.limit:
            self._in_circulation += 1
            self._free.release()
