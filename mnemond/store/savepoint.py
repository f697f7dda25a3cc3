"""How one operation of a batch is taken back alone, at no cost for those that nothing is foreseen to refuse."""

from __future__ import annotations

from mnemond.model.changes import AddInsight, AddRelations, ChangeSet
from mnemond.store.connection import Connection
from mnemond.store.insertion import NotKept

_CERTAIN = frozenset({AddInsight, AddRelations})


class Savepoint:
    """Of one operation. One that is alone in its transaction is taken back with it.

    Each page that is changed after a savepoint is copied first: 28 µs of a remember in a batch
    (docs/decisions/0019). A new memory and its links cannot be refused any more once they are decided. Should a
    constraint that nobody foresaw stand against them, the whole batch is written again, and then each operation has a
    savepoint.
    """

    def __init__(self, connection: Connection, *, several: bool, always: bool) -> None:
        self._connection = connection
        self._several = several
        self._always = always
        self._begun = self._kept = False

    def begin(self, change_set: ChangeSet) -> None:
        """This operation is written from now on."""
        self._begun = True
        if self._several and (self._always or not _CERTAIN.issuperset(map(type, change_set.changes))):
            self._connection.run("SAVEPOINT operation")
            self._kept = True

    def end(self) -> None:
        """It was written."""
        if self._kept:
            self._connection.run("RELEASE operation")

    def take_back(self) -> None:
        """Undo it. The transaction is open after that.

        Raises NotKept: the transaction has to be taken back.
        """
        if self._kept:
            self._connection.take_back("operation")
        elif self._begun and self._several:
            raise NotKept
        elif self._begun:
            self._connection.run("ROLLBACK")
            self._connection.run("BEGIN IMMEDIATE")
