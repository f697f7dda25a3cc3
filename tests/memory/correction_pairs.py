"""Facts that exchange words, made by hand: what was so, what is so now, and a question how it is; and pairs that are
both true."""

from __future__ import annotations

from typing import NamedTuple


class Pair(NamedTuple):
    """Two memories in the order they are remembered, a question that finds both, and what else the store says:
    `before` and `after` them."""

    old: str
    new: str
    question: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


OPS = (
    "Deploys need the approval of two people",
    "The deploy script lives in tools/deploy.sh",
    "Rollbacks take about four minutes",
)
PEOPLE = (
    "Ana plays the cello in a quartet",
    "Ben lives in Lisbon",
    "Ana met Carl at a conference in Madrid",
)
TOOLS = (
    "We use Postgres for the ledger",
    "Ben writes the release notes",
    "The linter runs before every commit",
)
CHINESE = ("部署需要两个人批准", "回滚大约需要四分钟", "安娜喜欢拉大提琴")

STORY = (
    "Long planning call today. We went through the backlog and Ben showed the new dashboard, which everyone liked."
    " {} After that we talked about the offsite; nobody minds the mountains. Carl will book the rooms."
)

CORRECTIONS: dict[str, Pair] = {
    # weekdays, times, dates
    "weekday now": Pair("Deploys go out on Tuesdays", "Deploys go out on Thursdays now", "when do deploys go out"),
    "weekday now, others": Pair(
        "Deploys go out on Tuesdays", "Deploys go out on Thursdays now", "when do deploys go out", OPS[:1], OPS[1:]
    ),
    "weekday, no cue": Pair("Deploys go out on Tuesdays", "Deploys go out on Thursdays", "when do deploys go out", OPS),
    "weekday moved": Pair(
        "The retro is on Friday at the end of the sprint", "The retro was moved to Wednesday", "when is the retro", OPS
    ),
    "weekday from to": Pair(
        "Deploys go out on Tuesdays", "Deploys moved from Tuesdays to Thursdays", "on which day are deploys", (), OPS
    ),
    "weekday starting": Pair(
        "Deploys go out on Tuesdays", "Starting in May, deploys go out on Thursdays", "when do deploys go out", OPS
    ),
    "weekday in a story": Pair(
        STORY.format("The deploys go out on Tuesdays."), STORY.format("The deploys go out on Thursdays now."),
        "when do deploys go out", OPS,
    ),
    "old in a story, new short": Pair(
        STORY.format("The deploys go out on Tuesdays."), "Deploys go out on Thursdays now", "when do deploys go out"
    ),
    "old short, new in a story": Pair(
        "Deploys go out on Tuesdays", STORY.format("And the deploys go out on Thursdays from now on."),
        "when do deploys go out", OPS[1:],
    ),
    "clock time": Pair("The standup is at 9:30", "The standup is at 10:00", "when is the standup", OPS),
    "month": Pair(
        "The next release is planned for March", "The next release is now planned for May",
        "when is the next release planned", OPS,
    ),
    # places
    "moved to": Pair("Ana lives in Oslo", "Ana moved to Bergen", "where does Ana live"),
    "moved to, others": Pair("Ana lives in Oslo", "Ana moved to Bergen", "where does Ana live", PEOPLE[:2], PEOPLE[2:]),
    "lives, no cue": Pair("Ana lives in Oslo", "Ana lives in Bergen", "where does Ana live", PEOPLE),
    "relocated": Pair(
        "The data centre is located in Frankfurt", "The data centre was relocated to Dublin",
        "where is the data centre", OPS,
    ),
    "no longer": Pair(
        "The team sits on the third floor of the old building", "The team no longer sits on the third floor",
        "where does the team sit", PEOPLE,
    ),
    # tools
    "switched to": Pair(
        "We use Jenkins for CI", "We switched to GitHub Actions for CI", "what do we use for CI", TOOLS
    ),
    "switched to, bare": Pair("We use Jenkins", "We switched to GitHub Actions", "what do we use"),
    "switched from": Pair(
        "Our CI runs on Jenkins", "We switched from Jenkins to GitHub Actions", "what does our CI run on", TOOLS
    ),
    "replaced": Pair(
        "The message queue is RabbitMQ", "RabbitMQ was replaced by NATS", "what is the message queue", TOOLS
    ),
    "instead of": Pair(
        "The web app is bundled with webpack", "The web app is bundled with Vite instead of webpack",
        "what is the web app bundled with", TOOLS,
    ),
    "uses for, no cue": Pair(
        "We use Jenkins for CI", "We use GitHub Actions for CI", "what do we use for CI", TOOLS
    ),
    "now runs on": Pair(
        "Billing runs on MySQL", "Billing now runs on Postgres", "which database does billing run on", TOOLS
    ),
    "not any more": Pair(
        "We deploy with Ansible", "We don't deploy with Ansible any more", "how do we deploy", TOOLS
    ),
    "actually": Pair(
        "The default branch is master", "Actually, the default branch is main", "what is the default branch", TOOLS
    ),
    # people, names, states
    "owner": Pair(
        "The owner of the billing service is Priya", "The owner of the billing service is Mateo",
        "who is the owner of the billing service", TOOLS,
    ),
    "works at now": Pair("Ben works at Initech", "Ben works at Globex now", "where does Ben work", PEOPLE),
    "joined": Pair("Ben works at Initech", "Ben left Initech and joined Globex", "where does Ben work", PEOPLE),
    "reports to": Pair(
        "Carl reports to Dana", "As of this week Carl reports to Erin", "who does Carl report to", PEOPLE
    ),
    "renamed": Pair(
        "The mobile project is called Falcon", "The mobile project was renamed to Heron",
        "what is the mobile project called", TOOLS,
    ),
    "target, no cue": Pair(
        "The deploy target is staging", "The deploy target is production", "what is the deploy target", OPS
    ),
    "favourite": Pair(
        "My favourite editor is Vim", "My favourite editor is Helix now", "what is my favourite editor", TOOLS
    ),
    "indent": Pair(
        "We indent with tabs in the frontend", "We changed to spaces in the frontend",
        "do we indent with tabs or spaces in the frontend", TOOLS,
    ),
    "role": Pair(
        "Priya is the owner of billing", "Mateo is now the owner of billing", "who is the owner of billing", TOOLS
    ),
    "our and the": Pair("Our CI runs on Jenkins", "CI runs on GitHub Actions now", "what does our CI run on", TOOLS),
    "small letters": Pair("ana lives in oslo", "ana moved to bergen", "where does ana live", PEOPLE),
    "decided": Pair(
        "We decided on RabbitMQ for the queue", "We switched to NATS for the queue",
        "what did we decide on for the queue", TOOLS,
    ),
    # Chinese
    "zh weekday": Pair("我们每周二部署", "我们现在每周四部署", "我们什么时候部署", CHINESE),
    "zh weekday, no cue": Pair("部署在每周二进行", "部署在每周四进行", "部署在什么时候进行", CHINESE),
    "zh moved": Pair("安娜住在奥斯陆", "安娜搬到了卑尔根", "安娜住在哪里", CHINESE),
    "zh changed to": Pair("默认分支是master", "默认分支改成了main", "默认分支是什么", CHINESE),
    "zh switched": Pair("我们用Jenkins做持续集成", "我们改用GitHub Actions做持续集成", "我们用什么做持续集成", CHINESE),
    "zh from to": Pair("缓存用的是Redis", "缓存从Redis换成了Memcached", "缓存用的是什么", CHINESE),
    "zh owner": Pair("计费服务的负责人是李雷", "计费服务的负责人换成了韩梅梅", "计费服务的负责人是谁", CHINESE),
    "zh no longer": Pair("团队在三楼办公", "团队不再在三楼办公", "团队在哪里办公", CHINESE),
    "zh in a story": Pair(
        "今天开了很长的会。大家看了新的仪表盘。每周二部署。下个月去爬山。",
        "今天又开了会，讨论了预算。以后改为每周四部署。卡尔会订房间。", "什么时候部署", CHINESE,
    ),
}  # fmt: skip

BOTH_TRUE: dict[str, Pair] = {
    "two people's drinks": Pair("Ana drinks tea in the morning", "Ben drinks coffee in the morning", "who drinks what"),
    "two people's places": Pair("Ana lives in Oslo", "Ben lives in Bergen now", "where does Ana live", PEOPLE[:1]),
    "two people move": Pair("Ana lives in Oslo", "Ben moved to Bergen", "where do Ana and Ben live"),
    "two services' ports": Pair(
        "The auth service listens on port 8080", "The billing service listens on port 9090",
        "which port does the auth service listen on",
    ),
    "two ports, the other order": Pair(
        "Port of the auth service: 8080", "Port of the billing service: 9090", "which port is of the auth service"
    ),
    "alternatives": Pair(
        "One option for the queue is Kafka", "One option for the queue is NATS", "which options are there for the queue"
    ),
    "considered": Pair("We considered Kafka", "We considered NATS", "which brokers did we consider", TOOLS),
    "two tools": Pair("We use pytest", "We use ruff", "which tools do we use", TOOLS[1:]),
    "two purposes": Pair(
        "We use Redis for caching", "We use Kafka for events", "what do we use for caching", TOOLS[1:]
    ),
    "two purposes, switched": Pair(
        "We use Redis for caching", "We switched to Kafka for events", "what do we use for caching", TOOLS[1:]
    ),
    "two languages": Pair("Ana speaks Norwegian", "Ana speaks German", "which languages does Ana speak"),
    "likes": Pair("Ana likes tea", "Ana likes coffee", "what does Ana like", PEOPLE),
    "another kind of thing": Pair("Ana lives in Oslo", "Ana moved to the design team", "where does Ana live"),
    "another field": Pair("Ana lives in Oslo", "Ana switched to Linux", "where does Ana live"),
    "a role many have": Pair(
        "Ana is on the platform team", "Ben is on the platform team now", "who is on the platform team"
    ),
    "might": Pair("We use Jenkins for CI", "We might switch to GitHub Actions for CI", "what do we use for CI", TOOLS),
    "a friend": Pair("A friend of Ana is Ben", "A friend of Ana is Carl", "who is a friend of Ana"),
    "two events": Pair(
        "The backup of the ledger failed on Monday", "The backup of the wiki failed on Tuesday", "which backups failed"
    ),
    "two days": Pair(
        "The incident on Monday was caused by DNS", "The incident on Tuesday was caused by a certificate",
        "which incidents are known",
    ),
    "two environments": Pair(
        "The staging cluster runs in Frankfurt", "The production cluster runs in Dublin",
        "where does the staging cluster run",
    ),
    "two environments, now": Pair(
        "The staging cluster runs in Frankfurt", "The production cluster now runs in Dublin",
        "where does the staging cluster run",
    ),
    "sprints": Pair("Sprint 12 is about search", "Sprint 13 is about billing", "what is sprint 12 about"),
    "a detail more": Pair(
        "Deploys go out on Tuesdays", "Deploys go out with a canary first", "when do deploys go out", OPS
    ),
    "said again": Pair("Deploys go out on Tuesdays", "The deploys still go out on Tuesdays", "when do deploys go out"),
    "asked about the past": Pair(
        "We use Jenkins for CI", "We switched to GitHub Actions for CI", "what did we use for CI before", TOOLS
    ),
    "zh two people": Pair("安娜住在奥斯陆", "本住在卑尔根", "安娜住在哪里", CHINESE),
    "zh two people, moved": Pair("安娜住在奥斯陆", "小本搬到了卑尔根", "安娜和小本住在哪里", CHINESE),
    "zh two purposes": Pair("我们用Redis做缓存", "我们用Kafka做队列", "我们用什么做缓存和队列", CHINESE),
    "zh likes": Pair("安娜喜欢茶", "安娜喜欢咖啡", "安娜喜欢什么"),
    "zh two services": Pair("认证服务监听8080端口", "计费服务监听9090端口", "认证服务监听哪个端口", CHINESE),
}  # fmt: skip
