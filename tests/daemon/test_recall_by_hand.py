"""recall in its several shapes as a person types it: explained, along links, by time, as published, in the past."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks.daemon_process import DaemonProcess
from tests.daemon.typed import Terminal, play

OUTAGE = """\
$ mnemonctl remember "The disk was full" -q --created-at 2024-03-12T08:00:00Z
00000001
$ mnemonctl remember "Backups stopped on Tuesday night" -q --created-at 2024-03-12T22:00:00Z
00000002
$ mnemonctl remember "Nobody was told about the backups" -q --created-at 2024-03-13T08:00:00Z
00000003
$ mnemonctl link 00000001 00000002 --type causal --weight .9 > /dev/null
"""

SCENES = {
    "explained, and in the order of time": f"""\
{OUTAGE}$ mnemonctl recall --explain backups
1. 00000003  2024-03-12  general/3
   Nobody was told about the backups
   score .74 · confidence high · keyword .62 · similarity .66
   made of words +1.20 · meaning +1.54
   above the next best by words +0.06
   a prompt needs it with probability .29: wording +0.90 · cosine +0.66 · passage +0.47

2. 00000002  2024-03-12  general/3
   Backups stopped on Tuesday night
   score .74 · confidence high · keyword .59 · similarity .68
   made of words +1.13 · meaning +1.58
   above the next best by words +1.13, meaning +0.97
   a prompt needs it with probability .23: wording +0.90 · cosine +0.71 · length -0.43

3. 00000001  2024-03-12  general/3
   The disk was full
   score .43 · confidence low · keyword 0 · similarity .26
   made of meaning +0.61
   a prompt needs it with probability .00: wording ahead -0.88 · cosine -0.66 · length -0.43

3 memories in store "$STORE" (sparse results)
took 1.0 ms
$ mnemonctl recall --order time backups -q
00000002
00000001
00000003
$ mnemonctl recall --compact backups
00000003  general/3     .74 high    Nobody was told about the backups
00000002  general/3     .74 high    Backups stopped on Tuesday night
00000001  general/3     .43 low     The disk was full
3 memories in store "$STORE" (sparse results)
""",
    "along links": f"""\
{OUTAGE}$ mnemonctl recall --mode beam --explain why backups stopped
1. 00000003  2024-03-12  general/3
   Nobody was told about the backups
   score .39 · confidence medium · keyword .20 · similarity .57
   reached 00000002 -temporal 1.0-> here
   made of words +0.45 · meaning +1.55
   above the next best by meaning +0.88, words +0.45
   a prompt needs it with probability .03: cosine +0.77 · wording ahead -0.55 · passage +0.31

2. 00000001  2024-03-12  general/3
   The disk was full
   score .35 · confidence low · keyword 0 · similarity .31 · graph .92
   reached 00000002 -causal .90-> here
   made of meaning +0.66 · links +0.92
   a prompt needs it with probability .00: wording ahead -0.88 · cosine -0.54 · shared -0.41

3. 00000002  2024-03-12  general/3
   Backups stopped on Tuesday night
   score .77 · confidence high · keyword .59 · similarity .74 · graph 1.0
   made of words +1.33 · meaning +1.67 · adjacency +0.76 · links +1.00
   above the next best by links +1.00, words +0.87, adjacency +0.76, meaning +0.13
   a prompt needs it with probability .91: cosine +0.96 · wording +0.90 · wording ahead +0.80

3 memories in store "$STORE" (sparse results)
causes are listed before their effects
took 1.0 ms
$ mnemonctl recall --mode ppr backups stopped -q
00000002
00000003
00000001
$ mnemonctl recall --mode probabilistic --seed 7 --now 2024-03-20T12:00:00Z --json backups | grep -oE '"seed":[0-9]+'
"seed":7
""",
    "as published": f"""\
{OUTAGE}$ mnemonctl recall --profile mnemon --explain why backups stopped
1. 00000001  2024-03-12  general/3
   The disk was full
   score .34 · confidence medium · keyword 0 · similarity .30 · graph .44
   reached 00000001 -causal .90-> 00000002 -causal .90-> here
   made of similarity +0.09 · graph +0.25
   above the next best by graph +0.25

2. 00000002  2024-03-12  general/3
   Backups stopped on Tuesday night
   score .92 · confidence high · keyword 1.0 · similarity .75 · graph 1.0
   reached 00000002 -causal .90-> 00000001 -causal .90-> here
   made of keyword +0.12 · similarity +0.22 · graph +0.58
   above the next best by graph +0.33, similarity +0.14, keyword +0.12

3. 00000003  2024-03-12  general/3
   Nobody was told about the backups
   score .27 · confidence high · keyword .50 · similarity .69
   reached 00000001 -causal .90-> 00000002 -temporal 1.0-> here
   made of keyword +0.06 · similarity +0.21

3 memories in store "$STORE" (sparse results)
causes are listed before their effects
took 1.0 ms
$ mnemonctl recall --profile mnemon what happened last week --now 2024-03-20T12:00:00Z -q -n 1
00000003
""",
    "as text for a prompt": f"""\
{OUTAGE}$ mnemonctl recall --context --text why backups | tail -n +2 | sed -E 's/[0-9a-f]{{16}}/NONCE/g'
<recalled-data NONCE>
store: $STORE · intent: WHY · 3 of 3 memories
<t:2024-03-12> Nobody was told about the backups <ref:00000003>
<t:2024-03-12> The disk was full <ref:00000001>
<t:2024-03-12> Backups stopped on Tuesday night <ref:00000002>
relations:
<ref:00000001> -> <ref:00000002> (bears on)
</recalled-data NONCE>
$ mnemonctl recall --context --budget 70 --text backups | tail -n +2 | sed -E 's/[0-9a-f]{{16}}/NONCE/g'
<recalled-data NONCE>
store: $STORE · intent: GENERAL · 1 of 2 memories
<t:2024-03-12> Nobody was told about the backups <ref:00000003>
… 1 intermediate memory …
</recalled-data NONCE>
""",
    "what is not known": f"""\
{OUTAGE}$ mnemonctl recall --compact Which colour has the office door
Nothing known surely fits.
00000001  general/3     .41 low     The disk was full
00000003  general/3     .39 low     Nobody was told about the backups
2 memories in store "$STORE" (sparse results)
$ mnemonctl recall --min-confidence medium Which colour has the office door
Nothing known surely fits in store "$STORE", 2 of less confidence left out (sparse results)
took 1.0 ms
$ mnemonctl recall --json --min-confidence high backups | jq -Mc '[(.results | length), .meta.left_out]'
[2,1]
$ mnemonctl recall --context --text Which colour has the office door
Nothing known surely fits this question.
$ mnemonctl recall --context --min-confidence low --text Which colour has the office door | head -n 1
Nothing known surely fits this question.
$ mnemonctl recall --basic --min-confidence low tea
mnemonctl: min_confidence and basic exclude each other: nothing is weighed
$ mnemonctl recall --min-confidence some tea
mnemonctl: min_confidence must be one of high, low, medium; it is 'some'
""",
    "as it was then": """\
$ mnemonctl remember "The office is in Berlin" -q --created-at 2024-01-01T00:00:00Z
00000001
$ mnemonctl remember "The office is in Munich" -q --created-at 2024-03-01T00:00:00Z
00000002
$ mnemonctl supersede 00000001 00000002 > /dev/null
$ mnemonctl recall where is the office -q
00000002
$ mnemonctl recall --as-of 2024-02-01 where is the office -q
00000001
$ mnemonctl recall --as-of 2023-02-01 where is the office
Nothing found in store "$STORE" (sparse results)
took 1.0 ms
$ mnemonctl recall --include-invalid --order time where is the office -q
00000001
00000002
""",
    "what cannot be meant": """\
$ mnemonctl recall --order oldest tea ; echo $?
mnemonctl: order must be one of score, time; it is 'oldest'
2
$ mnemonctl recall --mode beem --profile best tea
mnemonctl: mode must be one of beam, none, ppr, probabilistic; it is 'beem'
mnemonctl: profile must be one of mem0, mnemon, mnemond, mnemosyne; it is 'best'
$ mnemonctl recall --intent because --as-of then tea
mnemonctl: as_of: "then" is not an RFC 3339 timestamp such as 2026-02-18T09:30:00Z, nor a day such as 2024-03-12
mnemonctl: intent is 'because'; it must be one of why, when, entity, general
$ mnemonctl recall --compact --context tea
mnemonctl: compact and context exclude each other: a context has no results
$ mnemonctl recall --budget 5 tea
mnemonctl: budget is the size of a context; give context (--context) as well
$ mnemonctl recall --seed -1 tea
mnemonctl: seed is -1; allowed are 0 to 9007199254740991
$ mnemonctl recall --seed chance tea
mnemonctl: --seed: must be a whole number, not 'chance'
  See: mnemonctl recall --help
""",
}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    with DaemonProcess(tmp_path_factory.mktemp("daemon")) as running:
        yield running


@pytest.mark.parametrize("scene", SCENES)
def test_scenes(scene: str, daemon: DaemonProcess) -> None:
    store = "".join(char for char in scene if char.isalpha())
    with daemon.connect() as wire:
        wire.call("store.create", name=store)
    play(SCENES[scene].replace("$STORE", store), Terminal(daemon.data_dir, MNEMON_STORE=store))
