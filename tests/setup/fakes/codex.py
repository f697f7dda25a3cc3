"""Stands for Codex 0.169: `app-server` as far as `hooks/list`."""

import json
import os
import sys
from typing import Any

HOME = os.environ.get("CODEX_HOME") or os.path.join(os.environ["HOME"], ".codex")
TRUSTED = os.path.join(HOME, "trusted-by-test")


def read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def hooks() -> list[dict[str, Any]]:
    path = os.path.join(HOME, "hooks.json")
    listed = []
    for event, groups in json.loads(read(path) or "{}").get("hooks", {}).items():
        for group in groups:
            for handler in group.get("hooks", []):
                trust = "trusted" if os.path.exists(TRUSTED) else "untrusted"
                listed.append(
                    {
                        "eventName": event[0].lower() + event[1:],
                        "handlerType": "command",
                        "command": handler.get("command"),
                        "sourcePath": path,
                        "trustStatus": trust,
                    }
                )
    return listed


def serve() -> None:
    answer: dict[str, Any]
    for line in sys.stdin:
        asked = json.loads(line)
        if asked["method"] == "initialize":
            answer = {"userAgent": "fake", "codexHome": HOME}
        elif asked["method"] == "hooks/list":
            print(json.dumps({"method": "configWarning", "params": {"summary": "no bubblewrap"}}), flush=True)
            answer = {"data": [{"cwd": asked["params"]["cwds"][0], "hooks": hooks(), "warnings": [], "errors": []}]}
        else:
            continue
        print(json.dumps({"id": asked["id"], "result": answer}), flush=True)


def main(words: list[str]) -> None:
    match words:
        case ["app-server"]:
            serve()
        case _:
            sys.stderr.write(f"unknown command: {words}\n")
            sys.exit(2)


if __name__ == "__main__":
    main(sys.argv[1:])
