"""How often something may be tried; counted in the database, for all processes together."""

import hashlib

from sqlalchemy import delete, func, select

from pqpp_annotation.store.tables import Attempt
from pqpp_annotation.store.transactions import Store, Transaction, reads, writes_alone


class Limit:
    """At most `count` attempts of a key in `seconds`.

    An attempt is counted before it is made, so that many at once are not all let in.

    Example:
        >>> from pqpp_annotation.demo import example_study
        >>> folder, study, store = example_study()
        >>> store.clock = lambda: 0
        >>> limit = Limit(store, "passwords", count=2, seconds=60)
        >>> limit.take("a"), limit.take("a"), limit.take("a"), limit.take("b")
        (0, 0, 60, 0)
        >>> limit.forgive("a")
        >>> limit.take("a")
        0
        >>> store.close()
    """

    def __init__(self, store: Store, name: str, count: int, seconds: float) -> None:
        self._store, self._name = store, name
        self._count, self._milliseconds = count, int(seconds * 1000)

    def take(self, *keys: str) -> int:
        """Count an attempt, and return 0; or how many seconds it has to wait, and count nothing."""
        key = self._key(keys)
        # Whoever has to wait is told by a read: a flood of attempts writes nothing.
        rule = (key, self._count, self._milliseconds)
        return _wait(self._store, *rule) or _take(self._store, *rule)

    def forgive(self, *keys: str) -> None:
        """Forget the attempts of a key: the last one was right."""
        _forgive(self._store, self._key(keys))

    def _key(self, keys: tuple[str, ...]) -> str:
        text = "\n".join((self._name, *keys))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@reads
def _wait(db: Transaction, key: str, count: int, milliseconds: int) -> int:
    since = db.now() - milliseconds
    recent = select(func.count(), func.min(Attempt.created))
    tries, first = db.execute(recent.where(Attempt.key == key, Attempt.created > since)).one()
    return 0 if tries < count else max(1, round((first - since) / 1000))


@writes_alone
def _take(db: Transaction, key: str, count: int, milliseconds: int) -> int:
    wait = _wait(db, key, count, milliseconds)
    if not wait:
        db.execute(delete(Attempt).where(Attempt.created <= db.now() - 3_600_000))
        db.add(Attempt(key=key, created=db.now()))
    return wait


@writes_alone
def _forgive(db: Transaction, key: str) -> None:
    db.execute(delete(Attempt).where(Attempt.key == key))
