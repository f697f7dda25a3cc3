"""Triggers that texts of rules propose."""

from __future__ import annotations

from mnemond.text.proposed_triggers import proposed_trigger
from mnemond.text.triggers import normal_trigger
from tests.tables import each_row
from tests.timing import cpu_s


@each_row(
    ("text", "trigger"),
    [
        ("We must run `make check` before every git push", "Bash:git push*"),
        ("Always run the tests before `git push origin main`", "Bash:git push*"),
        ("Always run make lint before committing", "Bash:git commit*"),
        ("Run the tests before you push", "Bash:git push*"),
        ("Before merging, rebase onto main", "Bash:git merge*"),
        ("Never force-push to main", "Bash:git push*"),
        ("Nobody pushes to main before Ana has seen it", "Bash:git push*"),
        ("Don't commit to main without a review", "Bash:git commit*"),
        ("Pushes to main need a review by Ana", "Bash:git push*"),
        ("Vor jedem Push müssen die Tests laufen", "Bash:git push*"),
        ("Nie direkt auf main pushen", "Bash:git push*"),
        ("Vor dem Commit immer `make format` ausführen", "Bash:git commit*"),
        ("推送前必须运行测试", "Bash:git push*"),
        ("不要直接提交到 main", "Bash:git commit*"),
        ("Never run `rm -rf` on the data directory", "Bash:rm -rf*"),
        ("Never run terraform apply without a plan", "Bash:terraform apply*"),
        ("Never publish with `npm publish`, CI does it", "Bash:npm publish*"),
        ("Never start `docker compose down -v` here", "Bash:docker compose down*"),
        ("We must ask Ana before `kubectl delete namespace prod`", "Bash:kubectl delete*"),
        ("`./deploy.sh prod` needs the consent of Ana", "Bash:./deploy.sh prod*"),
        ("Do not use sudo", "Bash:sudo*"),
        ("Always use pnpm instead of npm", "Bash:npm*"),
        ("Nimm uv statt pip", "Bash:pip*"),
        ("Never edit files in migrations/ by hand", "Edit:migrations/**"),
        ("Never edit generated files under src/gen/", "Edit:src/gen/**"),
        ("Dateien in migrations/ nie von Hand ändern", "Edit:migrations/**"),
        ("不要修改 migrations/ 目录下的文件", "Edit:migrations/**"),
        ("Never change the schema.sql by hand", "Edit:schema.sql"),
        ("The script is deploy/run.sh, never edit it", "Edit:deploy/run.sh"),
        ("The office in Bergen has a blue door", None),
        ("We ran `git push` yesterday", None),
        ("We pushed it before the release was made", None),
        ("User prefers tabs over spaces", None),
        ("I never drink coffee before noon", None),
        ("The test must not touch the network", None),
        ("Never call `foo` twice", None),
        ("Always answer in German", None),
        ("Do not deploy on Fridays", None),
    ],
)
def test_a_rule_proposes_its_trigger(text: str, trigger: str | None) -> None:
    assert proposed_trigger(text) == trigger
    if trigger is not None:
        assert normal_trigger(trigger) == trigger


@each_row("piece", ["never `", "edit migrations/", "before ", "a/", "push ", "instead of ", "`a b` ", "不要"])
def test_hostile_texts_take_linear_time(piece: str) -> None:
    assert cpu_s(lambda: proposed_trigger(f"never {piece * 4_000}")) < 1.0
