"""Results of the methods about stores, backups and settings, and what people read of them."""

from __future__ import annotations

from mnemond.api.types_daemon import ConfigShowResult, SettingView
from mnemond.api.types_stores import BackupCreateResult, StorePathResult, StoreRemoveResult, StoreSetResult
from mnemond.model.answers import Backup

MADE = Backup(
    name="20260218T093000.000000Z-asked", store="shop", kind="asked", created_at="2026-02-18T09:30:00.000000Z",
    path="/home/ana/.mnemon/backups/shop/20260218T093000.000000Z-asked.db", bytes=2_000_000, memories=1234, retired=5,
    sha256="ab" * 32,
)  # fmt: skip

STORE_RESULTS: dict[str, object] = {
    "store.set": StoreSetResult(name="shop", previous="default"),
    "store.path": StorePathResult(name="shop", path="/home/ana/.mnemon/data/shop/mnemon.db", exists=True),
    "store.remove": StoreRemoveResult(name="old", backup="20260218T093000.000000Z-removed", purged=False),
    "backup": BackupCreateResult(backup=MADE, dropped=["20260118T093000.000000Z-asked"]),
    "config.show": ConfigShowResult(
        store="shop",
        files=["/home/ana/.mnemon/config.toml"],
        settings=[
            SettingView("diff.update", 0.7, 0.65, "/home/ana/.mnemon/config.toml:3"),
            SettingView("embedding.model", None, None, "default"),
        ],
        waiting=["server.drain_s"],
        refused=None,
    ),
}

STORE_TRANSCRIPTS = {
    "store.set": """\
The active store is "shop" (it was "default")
""",
    "store.path": """\
/home/ana/.mnemon/data/shop/mnemon.db
""",
    "store.remove": """\
Removed store "old"
  to bring it back: mnemonctl backup restore 20260218T093000.000000Z-removed
""",
    "backup": """\
Backed up store "shop": 1,234 memories, 1.9 MiB
  20260218T093000.000000Z-asked
  /home/ana/.mnemon/backups/shop/20260218T093000.000000Z-asked.db
  took the place of 20260118T093000.000000Z-asked
""",
    "config.show": """\
diff.update = 0.7                             # /home/ana/.mnemon/config.toml:3
embedding.model = unset                       # default
# changed since, and not in force yet: server.drain_s; mnemonctl daemon restart
""",
}
