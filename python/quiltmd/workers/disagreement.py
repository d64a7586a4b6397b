# SPDX-License-Identifier: Apache-2.0
"""Treatment of different states: devices with correct results continue."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

from ..errors import LostError, QuiltError
from .diagnosis import Diagnosis, diagnose
from .pool import PoolWorker, WorkerPool

_MOST_TRANSIENT_ERRORS = 3  # after this number a device is not used any more
_WHY = {"unrepeatable": "does not reproduce its own results", "outvoted": "is outvoted"}


def resolve_disagreement(pool: WorkerPool, target: int, digests: list[str]) -> None:
    """Finds out which devices were wrong between the step of the saved state and `target`.

    Parameters
    ----------
    pool:
        Its workers have come to step `target` or beyond; afterwards those that remain are there,
        with the right state.
    target:
        The step of the different states.
    digests:
        Digests of the states of all workers, or two of a single worker that did the steps twice.

    Raises
    ------
    QuiltError
        If it cannot be decided, or where no device is left that can be trusted.
    """
    begun = time.monotonic()
    if len(digests) > len(pool.workers):
        _check_alone(pool, target, digests, begun)
        return
    workers = list(pool.workers)
    repeated, extra = _repeat_all(pool, target)
    try:
        lost = _lost(workers, repeated)
        diagnosis = None if lost else diagnose(digests, list(map(str, repeated)))
        if extra is not None and diagnosis is not None and diagnosis.kind == "undecided":
            votes = [*map(str, repeated), _outcome(extra)]
            diagnosis = diagnose(votes, votes)
            workers.append(extra)
            extra = None
    finally:
        if extra is not None:  # it has no say
            extra.engine.close()
            pool.spares.appendleft(extra.place)
    if diagnosis is None:
        pool.replace(lost, begun)
        pool.on_all(lambda one: _return(pool, one, target))
        return  # with another device in its place all are compared again
    if diagnosis.kind == "undecided":
        raise QuiltError(
            f"{_named(pool.workers, ' and ')} reached different states between steps "
            f"{pool.saved_state().step} and {target}, each of them twice the same one, and there "
            f"is no third device to decide (spares in [workers]): one of them is broken"
        )
    _retire(pool, workers, diagnosis, begun)


def _retire(
    pool: WorkerPool, workers: list[PoolWorker], diagnosis: Diagnosis, begun: float
) -> None:
    """Continues on `workers` without those that are not to be trusted any more."""
    faulty = [workers[k] for k in diagnosis.faulty]
    errors = [pool.count_error(worker) for worker in faulty]
    named = _named(faulty, ", ")
    if diagnosis.kind == "transient":
        pool.report(f"a transient error of {named}; all agree when the steps are repeated", begun)
        often = [w for w, count in zip(faulty, errors, strict=True) if _is_too_many(count)]
        faulty = often if pool.spares else []
    else:
        pool.report(f"{named} {_WHY[diagnosis.kind]}", begun)
    pool.workers = workers
    for worker in faulty:
        pool.retire(worker, f"{worker.place} is not used any more")


def _check_alone(pool: WorkerPool, target: int, digests: list[str], begun: float) -> None:
    """One device has had two results: a new process on it decides."""
    worker = pool.workers[0]
    third = _repeat(pool, worker, target)
    pool.report(f"{worker.place} had two results for the same steps, which were repeated", begun)
    if not _is_too_many(pool.count_error(worker)) and third in digests:
        return
    if not pool.spares:
        raise QuiltError(
            f"{worker.place} does not reproduce its own results (steps "
            f"{pool.saved_state().step} to {target}), and there is no other device (spares "
            "in [workers])"
        )
    pool.retire(worker, f"{worker.place} is not used any more")


def _is_too_many(errors: int) -> bool:
    return errors >= _MOST_TRANSIENT_ERRORS


def _repeat_all(pool: WorkerPool, target: int) -> tuple[list[str | LostError], PoolWorker | None]:
    """The outcomes of workers that do the steps again, and a spare that has done them as well.

    All processes start at the same time, the spare too: whether it has to decide is known only when
    the others are done, and starting takes longer than most pieces of a run.
    """

    def repeat(worker: PoolWorker) -> str | LostError:
        try:
            return _repeat(pool, worker, target)
        except LostError as error:
            return error

    with ThreadPoolExecutor(len(pool.workers) + 1) as at_once:
        spare = at_once.submit(_tie_breaker, pool, target)
        repeating = [at_once.submit(repeat, worker) for worker in pool.workers]
    extra = spare.result()
    try:
        return [one.result() for one in repeating], extra
    except BaseException:
        if extra is not None:
            extra.engine.close()
        raise


def _lost(
    workers: list[PoolWorker], outcomes: list[str | LostError]
) -> list[tuple[PoolWorker, str]]:
    """The workers that were lost, with the reasons."""
    pairs = zip(workers, outcomes, strict=True)
    return [(worker, str(outcome)) for worker, outcome in pairs if isinstance(outcome, LostError)]


def _repeat(pool: WorkerPool, worker: PoolWorker, target: int) -> str:
    """The outcome of a worker that does the steps again in a new process."""
    worker.engine.close()
    renewed = pool.start_worker(worker.place, worker.number)
    worker.engine, worker.step = renewed.engine, renewed.step
    pool.restore(worker)
    return _run_to(worker, target)


def _return(pool: WorkerPool, worker: PoolWorker, target: int) -> None:
    """Has a worker that is beyond a step come to it again."""
    if worker.step > target:
        pool.restore(worker)
        _run_to(worker, target)


def _tie_breaker(pool: WorkerPool, target: int) -> PoolWorker | None:
    """A spare at the same step, if one can be used; others are left for another time."""
    for _ in range(len(pool.spares)):
        place = pool.spares.popleft()
        try:
            worker = pool.start_worker(place, len(pool.workers))
            pool.restore(worker)
            _run_to(worker, target)
        except QuiltError:
            pool.spares.append(place)
            continue
        return worker
    return None


def _run_to(worker: PoolWorker, target: int) -> str:
    """Runs a worker by itself; its outcome."""
    try:
        worker.engine.run(target - worker.step)
    except LostError:
        raise
    except (QuiltError, MemoryError) as error:
        return str(error)
    worker.step = target
    return _outcome(worker)


def _outcome(worker: PoolWorker) -> str:
    return worker.engine.result(worker.engine.begin_digest())


def _named(workers: list[PoolWorker], between: str) -> str:
    return between.join(str(worker.place) for worker in workers)
