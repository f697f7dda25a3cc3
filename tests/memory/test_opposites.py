"""Clauses that cannot both hold stop a merge; all others do not."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.memory.opposites import opposed

CONTRADICT = """
Service A runs on port 80 | Service A runs on port 81
The team lead is Ana | The team lead is Bob
Standup is at 9:30 | Standup is at 10:00
I live in Lisbon | I live in Porto
The cache TTL is 60 seconds | The cache TTL is 5 minutes
The repository is public | The repository is private
Always rebase before merging | Never rebase before merging
Debug logging is on in production | Debug logging is off in production
Uploads are limited to 20 MB | Uploads are limited to 50 MB
The default branch is main | The default branch is trunk
We do not support Windows | We support Windows
Ana is the maintainer of the parser | Joe is the maintainer of the parser
Der Server hört auf Port 80 | Der Server hört auf Port 8080
Die Projektleiterin ist Eva | Der Projektleiter ist Jan
Das Feature ist aktiviert | Das Feature ist deaktiviert
Lena wohnt in Köln | Lena wohnt in Bonn
Der Vertrag läuft bis 30. Juni | Der Vertrag läuft bis 31. Dezember
Die Abgabe ist am 15. September | Die Abgabe ist am 1. Oktober
Der Raum ist nicht beheizt | Der Raum ist beheizt
部署由张伟负责 | 部署由李娜负责
端口是8080 | 端口是9090
深色模式默认启用 | 深色模式默认禁用
日志保存三十天 | 日志保存七天
小王住在上海 | 小王住在北京
例会每周一上午十点 | 例会每周三上午十点
这个接口需要登录 | 这个接口不需要登录
The API is hosted in Zurich | The API is hosted in Oslo
My dentist is Dr. Bauer | My dentist is Dr. Klein
Rent is due on the 1st | Rent is due on the 5th
The workshop starts on Monday | The workshop starts on Thursday
The gate closes at 22 | The gate closes at 20
The wifi password is required for guests | The wifi password is optional for guests
Sam is married | Sam is single
The budget is 5,000 euros | The budget is 7,500 euros
Max retries is 3 | Max retries is 5
The cat has kidney disease | The cat doesn't have kidney disease
Tom likes olives | Tom hates olives
The token expires after 30 minutes, then the user logs in again | The token expires after 8 hours
The backup server is located in Bergen | The backup server is located in Oslo
Coverage threshold is 80% | Coverage threshold is 90%
Answers should be in German | Answers should be in English
The pool has 20 connections | The pool has 50 connections and a queue
Kaffee macht Bea nie nach 16 Uhr | Kaffee macht Bea immer nach 16 Uhr
"""

HOLD = """
Service A runs on port 80 | Service A runs in Frankfurt
Sprint 12 ships the importer | Sprint 13 ships the exporter
Kofi is on call in week 32 | Kofi is on call in week 40
Olga ran 10 km on Sunday | Olga ran 5 km on Monday
We use Jenkins for CI | We use Docker for builds
The API supports TLS 1.2 | The API supports TLS 1.3
Uploads are limited to 20 MB for guests | Uploads are limited to 100 MB for members
Printer 2 is on floor 3 | Printer 3 is on floor 4
Squad 7 owns billing | Squad 8 owns billing
Ana is the lead of the search team | Bob is the lead of the billing team
The cluster has 3 nodes | The cluster has 96 GB of memory
Raum 204 hat einen Beamer | Raum 205 hat keinen Beamer
Backups run at 02:00 | Backups run in Frankfurt
My sister is a nurse | My sister is called Ruth
Rate limit is 100 per minute for free users | Rate limit is 500 per minute for paid users
Redis does not hold sessions | Redis holds the job queue
The staging bucket is public | The production bucket is private
I like tea | I don't like coffee
Admins can delete posts | Guests cannot delete posts
The app is available in Germany | The app is not available on Android TV
Meeting with Sara on 3 May about budgets | Meeting with Sara on 5 June about hiring
Ana works at Globex in Paris | Ana works in the evening
Tests take 5 minutes | Tests take place on Fridays
The trip is from 3 May to 9 May | The trip is paid by Acme
Build 41 is broken | Build 42 is green
Der Server hat 64 GB RAM | Der Server hat 16 Kerne
Lena arbeitet bei Bosch | Lena arbeitet montags von zu Hause
服务器内存64GB | 服务器有16核
小王住在上海 | 小王喜欢跑步
三楼会议室可坐十人 | 四楼会议室可坐二十人
数据库每天备份两次 | 数据库在上海
Retry failed uploads 3 times | Retry failed webhooks 5 times
The main server is Atlas | The main server is fast and quiet
Ticket 5 is assigned to Ana | Ticket 6 is assigned to Ana
The yearly audit starts in May | The yearly audit starts with the payroll
Camera 1 is enabled | Camera 2 is disabled
The gym is open from 6 to 22 on weekdays | The gym is open from 8 to 18 on weekends
Paul is allergic to nuts | Paul is not vegan
The invoice for March is 200 euros | The invoice for April is 250 euros
Deploys happen on Tuesdays | Deploys happen on Thursdays
The lab opens at 8 | The lab closes at 18
Our manager is Ruth | Our manager is in Kenya until June
Kim has 2 cats | Kim has 3 dogs
Reads do not take the lock | Writes take the lock
The current sprint is about search | The current sprint ends on Friday
Die Kita öffnet um 7 Uhr | Die Kita schließt um 17 Uhr
The library is licensed under MIT | The library is licensed for internal use
The team lead is Ana | The team lead is Ana Lopez
Timeout is 60 seconds | Timeout is 1 minute
Disk usage is at 80 percent on node a | Disk usage is at 40 percent on node b
v2 listens on 8080 | v1 listens on 8081
The party is on Saturday at 18:00 | The party is on Saturday in the garden
Anna is at the dentist on Monday | Anna is at the office on Monday
Logs are kept 30 days | Logs are kept in S3
客户甲的账期是三十天 | 客户乙的账期是六十天
Alice reports to Bob | Alice reports to Bob every Monday
Ben is not on call in August | Ben is on call in September
The API does not need a key for health checks | The API needs a key
PRs need two approvals | PRs need green tests
The frontend is written in TypeScript | The frontend is written in a hurry
"""


def pairs(text: str) -> list[tuple[str, str]]:
    return [(old, new) for line in text.strip().splitlines() for old, _, new in [line.partition(" | ")]]


@pytest.mark.parametrize(("old", "new"), pairs(CONTRADICT))
def test_both_cannot_hold(old: str, new: str) -> None:
    found = opposed(old, new)
    assert found is not None
    assert (found.older in old, found.newer in new) == (True, True)
    assert opposed(new, old) is not None


@pytest.mark.parametrize(("old", "new"), pairs(HOLD))
def test_both_hold(old: str, new: str) -> None:
    assert opposed(old, new) is None
    assert opposed(new, old) is None


def test_the_clauses_are_named() -> None:
    found = opposed(
        "Tokens live in Redis. They expire; tokens expire after 30 minutes.", "Tokens expire after 8 hours!"
    )
    assert found == ("tokens expire after 30 minutes", "Tokens expire after 8 hours!")


@given(st.text(max_size=80))
def test_a_text_never_contradicts_itself(text: str) -> None:
    assert opposed(text, text) is None or "not" in text or "no" in text


@pytest.mark.parametrize("part", ["a ", "is 5 ", "中是五", "1.", "x, ", "由负责", "the lead is A "])
def test_hostile_texts_take_a_moment(part: str) -> None:
    text = (part * 8000)[:8000]
    started = time.perf_counter()
    opposed(text, text[1:])
    opposed("; ".join([part * 40] * 500)[:8000], "; ".join([part * 41] * 500)[:8000])
    assert time.perf_counter() - started < 2.0
