"""Clauses that cannot both hold stop a merge; all others do not."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from mnemond.memory.diff_frames import opposed
from tests.tables import each_row

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
The museum opens at 10 | The museum opens at 9
Nils is 12 years old | Nils is 13 years old
Our CEO is Marta | Our CEO is Viktor, he joined in May
The parcel weighs 2 kg | The parcel weighs 3 kg
Flight LH 123 leaves at 8:15 | Flight LH 123 leaves at 9:20 from gate A4
Yuki lives in Osaka | Yuki lives in Kyoto now
The server room is locked | The server room is unlocked
The contract ends on 31 March | The contract ends on 30 June
Der Zug fährt um 8:04 | Der Zug fährt um 8:34
Die Tür ist offen | Die Tür ist geschlossen
Der Chef ist Herr Maier | Der Chef ist Frau Lang
发布窗口是周二 | 发布窗口是周四
预算是五万元 | 预算是八万元
负责人是王敏 | 负责人是赵磊
小张吃辣 | 小张不吃辣
The build takes 12 minutes | The build takes about 20 minutes
Guests may use the sauna | Guests may not use the sauna
The tests need a network | The tests don't need a network
Smoking is allowed on the balcony | Smoking is forbidden on the balcony
Comments are required | Comments are optional
The mascot is called Rex | The mascot is called Bo
Mails are sent automatically | Mails are sent manually
Passwords must have 14 characters | Passwords must have 10 characters
The primary region is eu-west-1 | The primary region is us-east-2
The TTL of the cache is set to 60 s | The cache TTL is 300 s
Meetings are on Tuesday | Meetings are on Wednesday
Sessions last 45 minutes | Sessions last 60 minutes
The parser is maintained by Ana | The parser is maintained by Joe
Kostenstelle ist 4711 | Kostenstelle ist 4712
Das WLAN ist für Gäste kostenlos | Das WLAN ist für Gäste nicht kostenlos
The audit is on 2026-05-03 | The audit is on 2026-06-10
The audit is in March | The audit is in April
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
The bakery on Elm Street opens at 7 on weekdays | The bakery on Elm Street opens at 9 on Sundays
Mia takes 10 mg in the morning | Mia takes 5 mg at night
Nils is 12 years old | Nils is 160 cm tall
The car has 80,000 km on the clock | The car has a tow bar
Our CEO is Marta | Our CFO is Marta
The server room is on floor 2 | The server room is locked
The report has 12 pages | The report has 3 authors
Jonas is vegan | Jonas is allergic to soy
Zoe is in Berlin until Friday | Zoe is in the Berlin choir
Lea is Tom's sister | Lea is the head of sales
The deadline for the abstract is 3 May | The deadline for the paper is 17 May
Flight LH 123 leaves at 8:15 | Flight LH 456 leaves at 9:20
The API returns 404 for unknown ids | The API returns 429 for too many calls
The alarm is set to 6:30 on weekdays | The alarm is set to 8:00 on Saturdays
Replicas: 3 in eu-west | Replicas: 2 in us-east
Gateway listens on 8080 for HTTP | Gateway listens on 8443 for TLS
CI runs on Ubuntu 22.04 | CI runs on macOS 14
The tests do not need a network | The tests need Docker
Don't use mocks in integration tests | Use mocks in unit tests
We deploy from main | We never deploy on Fridays
The kitchen light is off at night | The hall light is on at night
The heating is on in winter | The heating is off in summer
Eva leads the backend team | Eva's team owns billing
The parcel weighs 2 kg | The parcel is 40 cm long
Node 3 has 64 GB | Node 4 has 128 GB
Hamster Pip is 2 years old and eats seeds | Hamster Pip eats no apples
Backups are kept 30 days | Backups are encrypted
Backups are kept 30 days on disk | Backups are kept 1 year on tape
Frau Weber ist unsere Steuerberaterin | Frau Weber ist im August im Urlaub
Der Zug fährt um 8:04 ab Gleis 3 | Der Zug hat keinen Speisewagen
Die Heizung ist im Winter an | Die Heizung ist im Sommer aus
Montags ist Training | Das Training dauert 90 Minuten
Die Bibliothek hat montags zu | Die Bibliothek öffnet um 10 Uhr
发布窗口是周二 | 发布由王敏负责
小李在上海工作 | 小李住在苏州
服务A监听8080端口 | 服务B监听8081端口
预算是五万元 | 预算由财务审批
小张不吃辣 | 小张喜欢吃面
The password rotates every 90 days | The password has at least 14 characters
Tom is not the owner of the repo | Tom is the reviewer of the repo
The house has 4 rooms | The house has a garden of 200 square metres
Grandma's recipe needs 500 g of flour | Grandma's recipe needs 3 eggs
Ines is on parental leave until March | Ines is on the board
The app starts in dark mode | The app starts in 2 seconds
Yuki speaks no German | Yuki speaks Japanese and English
The contract is with Acme | The contract is not yet signed
The contract ends on 31 March | The contract starts on 1 April
Cluster east has 12 nodes, cluster west has 8 nodes | Cluster west has 8 nodes and runs Cilium
Lisa starts at 9 | Lisa ends at 17
The rota: Mon Ana, Tue Ben | The rota is on the fridge
Phone of the plumber is 555-1234 | The plumber is Mr Novak
The main dish is lasagne | The main guest is Aunt Rosa
Max lives in the north of Hamburg | Max lives with two cats
The current phase is design | The current budget is 5k
The last release was 2.3 | The next release is 2.4
The hall holds 120 people seated | The hall holds 200 people standing
Carl drinks 3 coffees a day | Carl drinks no alcohol
Invoices below 500 euros need no approval | Invoices above 5,000 euros need approval
Port 8080 is open | Port 22 is closed
The east door is open | The west door is closed
The museum is closed on Mondays | The museum is open on Sundays
The shop is open on Saturdays | The shop is closed in August
Sara reports to Lin for project X | Sara reports to Omar for project Y
Hamlet is | Hamlet is in
缓存版本是第2号3个 | 缓存版本是第2号4号
The official colour of the club is dark green | The official colour of the club is warm red
"""


def pairs(text: str) -> list[tuple[str, str]]:
    return [(old, new) for line in text.strip().splitlines() for old, _, new in [line.partition(" | ")]]


@each_row(("old", "new"), pairs(CONTRADICT))
def test_both_cannot_hold(old: str, new: str) -> None:
    found = opposed(old, new)
    assert found is not None
    assert (found.older in old, found.newer in new) == (True, True)
    assert opposed(new, old) is not None


@each_row(("old", "new"), pairs(HOLD))
def test_both_hold(old: str, new: str) -> None:
    assert opposed(old, new) is None
    assert opposed(new, old) is None


def test_the_clauses_are_named() -> None:
    found = opposed(
        "Tokens live in Redis. They expire; tokens expire after 30 minutes.", "Tokens expire after 8 hours!"
    )
    assert found == ("tokens expire after 30 minutes", "Tokens expire after 8 hours")


@given(st.text(max_size=80))
def test_a_text_never_contradicts_itself(text: str) -> None:
    assert opposed(text, text) is None or "not" in text or "no" in text


@each_row("part", ["a ", "is 5 ", "中是五", "1.", "x, ", "由负责", "the lead is A "])
def test_hostile_texts_take_a_moment(part: str) -> None:
    text = (part * 8000)[:8000]
    started = time.process_time()
    opposed(text, text[1:])
    opposed("; ".join([part * 40] * 500)[:8000], "; ".join([part * 41] * 500)[:8000])
    assert time.process_time() - started < 2.0
