"""entity list, show, merge, split, not-same and alias as a person types them, and what waits of a tool's merge."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks.daemon_process import DaemonProcess
from tests.daemon.typed import Terminal, play

SCENES = {
    "one thing with two names": """\
$ mnemonctl relations add Ana works_at Acme --since 2024-03 -q > /dev/null
$ mnemonctl relations add "Ana Silva" works_at Initech --since 2025-01 -q > /dev/null
$ mnemonctl remember "Ana Silva likes tea" --relation "Ana Silva prefers tea" -q > /dev/null
$ mnemonctl entity list
Ana Silva  person  1 memory, 2 relations
Acme  concept  1 relation
Ana  concept  1 relation
Initech  concept  1 relation
4 names; of each type: concept 3, person 1
$ mnemonctl entity merge Ana "Ana Silva" --dry-run
Would be so: Ana Silva is a name of Ana now
  with 1 memory, 2 relations
    Ana works_at Acme  since 2024-03 until 2025-01  (past)
$ mnemonctl entity merge Ana "Ana Silva"
Ana Silva is a name of Ana now
  with 1 memory, 2 relations
  1d0dc6ec  Ana prefers tea
  35977f3d  Ana works_at Acme  since 2024-03 until 2025-01  (past)
  f7a880a4  Ana works_at Initech  since 2025-01
  undo: mnemonctl undo 8bb0a163
$ mnemonctl entity alias Ana Anita
Anita is another name of Ana
  undo: mnemonctl undo 628a2c69
$ mnemonctl entity show anita
Ana  person
  also: Ana Silva, Anita
now
  1d0dc6ec  Ana prefers tea
    said 2026-11-28 in 9adb843c: Ana Silva likes tea
  f7a880a4  Ana works_at Initech  since 2025-01
    given by host
before
  35977f3d  Ana works_at Acme  since 2024-03 until 2025-01  (past)
    given by host
    given by host
timeline
  before      began: Ana prefers tea
  2024-03     began: Ana works_at Acme
  2025-01     began: Ana works_at Initech
  2025-01     ended: Ana works_at Acme
  2026-11-28  9adb843c  Ana Silva likes tea
memories
  2026-11-28  9adb843c  Ana Silva likes tea
$ mnemonctl entity show Ana --as-of 2024-06-01
Ana  person
  also: Ana Silva, Anita
  as it was 2024-06-01T00:00:00
now
  1d0dc6ec  Ana prefers tea
    said 2026-11-28 in 9adb843c: Ana Silva likes tea
  35977f3d  Ana works_at Acme  since 2024-03 until 2025-01
    given by host
    given by host
later
  f7a880a4  Ana works_at Initech  since 2025-01  (future)
    given by host
timeline
  before      began: Ana prefers tea
  2024-03     began: Ana works_at Acme
memories
  2026-11-28  9adb843c  Ana Silva likes tea
$ mnemonctl entity list --type person
Ana (also Ana Silva, Anita)  person  1 memory, 3 relations
1 name; of each type: concept 2, person 1
$ mnemonctl entity split "Ana Silva" from Ana
Ana and Ana Silva are two
  with 1 memory
  53185b04  Ana Silva prefers tea
  1b25ca20  Ana Silva works_at Initech  since 2025-01
  35977f3d  Ana works_at Acme  since 2024-03
  undo: mnemonctl undo b681ed20
$ mnemonctl entity merge Ana "Ana Silva" ; echo $?
mnemonctl: 'Ana' and 'Ana Silva' were decided not to be the same, 2026-11-28
  to take that back: mnemonctl undo b681ed20-8863-4d46-bac1-288fcc809638
2
$ mnemonctl undo
Took back: entity.split, operation b681ed20-8863-4d46-bac1-288fcc809638
To have it again: mnemonctl undo 77064766
$ mnemonctl entity show Ana -q
9adb843c-8f45-4254-ab38-3536f31b729e
""",
    "a part of a name, and names of two": """\
$ mnemonctl relations add "Maria Costa" uses Vim -q > /dev/null
$ mnemonctl relations add "Rui Costa" uses Vim -q > /dev/null
$ mnemonctl entity show Costa ; echo $?
mnemonctl: 'Costa' may be 'Maria Costa', 'Rui Costa'
  give the whole name of one of them
2
$ mnemonctl entity show rui
Rui Costa  concept
now
  ae22a7ae  Rui Costa uses Vim
    given by host
timeline
  before      began: Rui Costa uses Vim
$ mnemonctl entity not-same "Maria Costa" "Rui Costa"
Maria Costa and Rui Costa are two, for good
  undo: mnemonctl undo e319a9a2
$ mnemonctl entity not-same "Rui Costa" "Maria Costa"
Nothing changed: that was so already
$ mnemonctl entity merge Maria Rui ; echo $?
mnemonctl: no memory and no relation names 'Maria'
  did you mean 'Maria Costa'?
3
$ mnemonctl entity merge "Maria Costa" "Rui Costa" ; echo $?
mnemonctl: 'Maria Costa' and 'Rui Costa' were decided not to be the same, 2026-11-28
  to take that back: mnemonctl undo e319a9a2-42a0-4841-a888-7662b1545f05
2
$ mnemonctl entity split Maria Rui ; echo $?
mnemonctl: no memory and no relation names 'Maria'
  did you mean 'Maria Costa'?
3
$ mnemonctl entity merge "Maria Costa" ; echo $?
mnemonctl: entity merge needs two names
  mnemonctl entity merge Ana "Ana Silva" (quotes around several words)
2
$ mnemonctl entity show ; echo $?
mnemonctl: entity show needs a name
  mnemonctl entity show Ana
2
$ mnemonctl entity list --query COSTA -q
Maria Costa
Rui Costa
""",
    "a merge by a tool waits": """\
$ mnemonctl relations add Ana uses Vim -q > /dev/null
$ mnemonctl relations add Anita uses Emacs -q > /dev/null
$ mnemonctl entity merge Ana Anita | cat
{"status":"proposed","entity":"Ana","other":"Anita","review":null,"memories":0,"relations":1,"dry_ru\
n":false,"changed":[],"op_id":"f837c14d-d76e-4db5-98f1-9cf4360362c6","replayed":false}
$ mnemonctl reviews
0 reviews, 1 pair of names in store "STORE"; both stay meanwhile
1  MERGE?  until 2026-12-12
  Ana  concept
  Anita  concept
  a tool asked to join them
decide: mnemonctl resolve N --as MERGE | COEXIST
$ mnemonctl resolve 1 --as MERGE 2>&1 | grep -o "MERGE of review 1 is taken from a person at a terminal only" | head -1
MERGE of review 1 is taken from a person at a terminal only
$ mnemonctl resolve 1 --as MERGE
Review 1, MERGE: Ana and Anita, the second is a name of the first now
  undo: mnemonctl undo 6f70d405
$ mnemonctl entity show Ana
Ana  concept
  also: Anita
now
  6050e5e1  Ana uses Vim
    given by host
  d4d8fe57  Ana uses Emacs
    given by host
timeline
  before      began: Ana uses Emacs
  before      began: Ana uses Vim
$ mnemonctl undo -q
e34b1bb9-81b8-42d9-91b5-ea74079139d6
$ mnemonctl reviews
0 reviews, 1 pair of names in store "STORE"; both stay meanwhile
1  MERGE?  until 2026-12-12
  Ana  concept
  Anita  concept
  a tool asked to join them
decide: mnemonctl resolve N --as MERGE | COEXIST
$ mnemonctl resolve 1 --as DUPLICATE ; echo $?
mnemonctl: review 1 asks whether two names are one: MERGE, or COEXIST if they are not
  nothing was changed
2
$ mnemonctl resolve 1 --as COEXIST
Review 1, COEXIST: Ana and Anita, they are two, and will not be proposed again
  undo: mnemonctl undo 90329768
$ mnemonctl entity merge Ana Anita ; echo $?
mnemonctl: 'Ana' and 'Anita' were decided not to be the same, 2026-11-28
  to take that back: mnemonctl undo 90329768-5dfa-44e0-a4e5-41a5eb9a3b35
2
$ mnemonctl reviews
No memories of store "STORE" wait for a decision
""",
}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    with DaemonProcess(tmp_path_factory.mktemp("daemon")) as running:
        yield running


@pytest.mark.parametrize("scene", SCENES)
def test_scenes(scene: str, daemon: DaemonProcess) -> None:
    name = "".join(char for char in scene if char.isalnum())[:40]
    with daemon.connect() as wire:
        wire.call("store.create", name=name)
    play(SCENES[scene].replace('"STORE"', f'"{name}"'), Terminal(daemon.data_dir, MNEMON_STORE=name))
