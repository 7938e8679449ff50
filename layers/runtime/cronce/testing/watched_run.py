"""A run that tells a watch of everything its job asks it for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from itertools import count
from typing import Any

from cronce.core.durations import Duration
from cronce.core.errors import Asleep, StepUncertainError, StopSignal
from cronce.engine.run_handle import Run
from cronce.engine.step_function import KEY_PARAMETER, takes_key
from cronce.testing.watch import Asked, Call, Kind, Moment, Watch, copied

END = object()
"""In the place of the item after the last one."""


def watched(function: Callable[[Run], object], watch: Watch) -> Callable[[Run], object]:
    """A job's function, watched."""

    def called(run: Run) -> object:
        watch.asked, watch.stopped = Asked(), False
        try:
            returned = watch.outside.call(function, WatchedRun(run, watch))
        except Exception as error:
            # an at-most-once step whose worker dies is a step in doubt
            watch.swallowed |= watch.stopped and not isinstance(error, StepUncertainError)
            watch.raised.append(error)
            raise
        watch.swallowed |= watch.stopped
        watch.reached(Moment.RETURNED)
        return returned

    return called


class WatchedRun(Run):
    """A run whose steps are watched.

    Args:
        run: as the engine made it; not to be used any more.
        watch: is told.
    """

    def __init__(self, run: Run, watch: Watch) -> None:
        vars(self).update(vars(run))
        self._watch = watch

    def step(self, name: str, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """See `Run.step`."""
        with self._asking(name, Kind.STEP):
            return super().step(name, self._watched(name, fn, kwargs), *args, **kwargs)

    def once(self, name: str, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """See `Run.once`."""
        with self._asking(name, Kind.ONCE):
            return super().once(name, self._watched(name, fn, kwargs), *args, **kwargs)

    def sleep(self, name: str, delay: Duration) -> None:
        """See `Run.sleep`."""
        with self._asking(name, Kind.SLEEP):
            super().sleep(name, delay)

    def sleep_until(self, name: str, instant: datetime) -> None:
        """See `Run.sleep_until`."""
        with self._asking(name, Kind.SLEEP):
            super().sleep_until(name, instant)

    def each(
        self, name: str, items: Iterable[Any], fn: Callable[..., Any], /, *args: Any, **options: Any
    ) -> Any:
        """See `Run.each`."""
        keys: list[str] = []
        by_position = options.get("key") is None
        if callable(options.get("key")):
            options["key"] = partial(self._key, options["key"], keys)
        self._watch.asked.every[str(name)] = options.get("checkpoint_every", 1)
        pulled = self._pulled(items, keys if by_position else None)
        watched = self._watched(name, fn, None, options.get("concurrency", 1))
        with self._asking(name, Kind.EACH, keys):
            return super().each(name, pulled, watched, *args, **options)

    @contextmanager
    def _asking(self, name: str, kind: Kind, keys: Sequence[str] = ()) -> Iterator[None]:
        """A step is asked for; after it its worker may die."""
        watch = self._watch
        try:
            with watch.outside.looking(False):
                yield
        except StopSignal as signal:
            watch.stopped = True
            if isinstance(signal, Asleep):
                watch.reached(Moment.RECORDED, name)
            raise
        finally:
            watch.asked.kinds[str(name)] = kind
            watch.asked.items[str(name)] = keys
        watch.reached(Moment.RECORDED, name)

    def _pulled(self, items: Iterable[Any], numbered: list[str] | None) -> Iterable[Any]:
        """The items, watched; what cannot be gone through is the engine's to refuse."""
        try:
            iter(items)
        except TypeError:
            return items
        return self._one_by_one(items, numbered)

    def _one_by_one(self, items: Iterable[Any], numbered: list[str] | None) -> Iterator[Any]:
        outside, iterator = self._watch.outside, iter(items)
        for position in count():
            with outside.looking(True):
                item = next(iterator, END)
            if item is END:
                return
            if numbered is not None:
                numbered.append(str(position))
            yield item
            self._watch.pulled()

    def _key(self, key: Callable[[Any], object], keys: list[str], item: Any) -> object:
        """An item's key, kept."""
        with self._watch.outside.looking(True):
            found = key(item)
        keys.append(str(found))
        return found

    def _watched(self, name: str, fn: Any, given: Mapping[str, Any] | None, at_once: object = 1) -> Any:
        """A step's function, watched. It takes the key in any case, and hands it on if the function does.

        Args:
            name: of the step.
            fn: of the author.
            given: its named arguments; None: it is given items.
            at_once: so many of them work at once, and share the time.
        """
        if not callable(fn):
            return fn
        watch, own = self._watch, self.idempotency_key(name)
        share = at_once if isinstance(at_once, int) and at_once > 0 else 1

        def watched(*args: Any, idempotency_key: str = own, **kwargs: Any) -> Any:
            watch.alive()
            call = Call(
                step=name,
                item=idempotency_key.removeprefix(f"{own}/") if given is None else None,
                idempotency_key=idempotency_key,
                attempt=self.attempt,
                arguments=copied((args, kwargs)),
                fencing_tokens=watch.lease_tokens() | {self.fencing_token},
            )
            if KEY_PARAMETER in (given or {}) or takes_key(fn, args, kwargs):
                kwargs[KEY_PARAMETER] = idempotency_key
            watch.calls.append(call)
            if name in watch.takes:
                watch.work(watch.takes[name] / share)
            value = fn(*args, **kwargs)
            watch.done(call)
            return value

        return watched
