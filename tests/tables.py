"""Tables of which one test tries each row.

A test of its own for each row (`pytest.mark.parametrize`) takes 5 ms of pytest and its workers, more than most rows.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from _pytest.mark import ParameterSet

Test = Callable[..., Any]


def each_row(names: str | Sequence[str], rows: Iterable[Any]) -> Callable[[Test], Test]:
    """Run the test with each row of the table, as parameters with these names, and report every row that fails.

    The fixtures of the test are made once for all rows: a row must not see what another has done to them. For each row
    `tmp_path` is a new directory.
    """
    keys = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    sets = [ParameterSet.extract_from(row, force_tuple=len(keys) == 1) for row in rows]
    if not sets or any(each.marks or len(each.values) != len(keys) for each in sets):
        raise ValueError(f"a table of {keys} has rows, each as many values as there are names, and no marks")
    table = [(each.id, dict(zip(keys, each.values, strict=True))) for each in sets]

    def over(test: Test) -> Test:
        signature = inspect.signature(test)
        if unknown := set(keys) - set(signature.parameters):
            raise ValueError(f"{test.__name__} takes no {unknown}")

        def calls(fixtures: dict[str, Any]) -> Iterator[tuple[dict[str, Any], Any]]:
            """The arguments of each row and the context in which they are tried. What failed is raised at the end."""
            failed: list[BaseException] = []

            @contextmanager
            def kept(label: object, row: dict[str, Any]) -> Iterator[None]:
                try:
                    yield
                except (Exception, pytest.fail.Exception) as error:
                    error.add_note(f"row {label or ''}: {row!r}")
                    failed.append(error)

            for number, (label, row) in enumerate(table):
                own = {"tmp_path": fixtures["tmp_path"] / str(number)} if "tmp_path" in fixtures else {}
                for directory in own.values():
                    directory.mkdir(mode=0o700)  # as pytest makes it
                yield fixtures | own | row, kept(label, row)
            if failed:
                raise BaseExceptionGroup(f"{len(failed)} of {len(table)} rows fail", failed)

        if inspect.iscoroutinefunction(test):

            @functools.wraps(test)
            async def all_rows(*args: Any, **fixtures: Any) -> None:
                for arguments, context in calls(fixtures):
                    with context:
                        await test(*args, **arguments)
        else:

            @functools.wraps(test)
            def all_rows(*args: Any, **fixtures: Any) -> None:
                for arguments, context in calls(fixtures):
                    with context:
                        test(*args, **arguments)

        left = [parameter for name, parameter in signature.parameters.items() if name not in keys]
        all_rows.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        return all_rows

    return over
