"""`mnemonctl prompts …`: prompts for a language model, those of this release and the user's."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path

from mnemond.api.types_daemon import CliRunResult
from mnemond.cli.grammar import Invocation
from mnemond.cli.output import one_line
from mnemond.config import loading
from mnemond.config.prompt_texts import FOLDER, edited
from mnemond.errors import CONFIG, INVALID_PARAMS, STORAGE, MnemonError
from mnemond.llm.prompts import ARGUMENTS, FILE, Profile, Prompt, Prompts, read_prompts, release, without
from mnemond.store.files import replace_file
from mnemond.wire.params import nearest


def run(invocation: Invocation, directory: Path, environment: Mapping[str, str]) -> CliRunResult:
    """Run one of them, without a daemon. Raises MnemonError."""
    profile = loading.load(directory / loading.FILE, environment).llm.prompt_profile
    found, key = read_prompts(directory, profile), _key(invocation)
    match invocation.command.name.partition(" ")[2]:
        case "show":
            return _show(invocation, found, key)
        case "diff":
            return _diff(invocation, found, key, profile)
        case "reset":
            return _reset(invocation, directory, key)
        case _:
            return _check(invocation, found, directory / FOLDER / FILE)


def _key(invocation: Invocation) -> str | None:
    words = invocation.words
    if not words:
        return None
    if len(words) > 1 or words[0] not in ARGUMENTS:
        near = nearest(words[0], list(ARGUMENTS))
        hint = f"did you mean {near}?" if near and len(words) == 1 else f"one of {', '.join(ARGUMENTS)}"
        raise MnemonError(INVALID_PARAMS, f"there is no prompt {one_line(' '.join(words))[:80]}", hint=hint)
    return words[0]


def _usable(found: Prompts) -> Prompts:
    if found.errors:
        raise MnemonError(CONFIG, "; ".join(found.errors), hint="mend it; until then this release's prompts are used")
    return found


def _show(invocation: Invocation, found: Prompts, key: str | None) -> CliRunResult:
    if key is not None:
        prompt = found[key]
        return _result(invocation, _view(prompt) | {"template": prompt.template}, prompt.template)
    prompts = list(found.by_key.values())
    lines = [f"{each.key:<28}{each.digest}  {one_line(each.origin)}" for each in prompts]
    lines += [f"# {one_line(sentence)}" for sentence in (*found.errors, *found.warnings)]
    facts = {"prompts": [_view(each) for each in prompts], "errors": found.errors, "warnings": found.warnings}
    return _result(invocation, facts, "\n".join(lines))


def _view(prompt: Prompt) -> dict[str, object]:
    return {"key": prompt.key, "hash": prompt.digest, "origin": prompt.origin, "texts": ARGUMENTS[prompt.key]}


def _diff(invocation: Invocation, found: Prompts, key: str | None, profile: Profile) -> CliRunResult:
    ours = release(profile)
    parts = [
        "\n".join(
            difflib.unified_diff(
                ours[each.key].splitlines(), each.template.splitlines(), f"{each.key} of this release",
                f"{each.key} of {each.origin}", lineterm="",
            )
        )
        for each in _usable(found).by_key.values()
        if each.template != ours[each.key] and key in (None, each.key)
    ]  # fmt: skip
    return _result(invocation, {"diff": "\n".join(parts)}, "\n".join(parts) or "no prompt differs from this release")


def _reset(invocation: Invocation, directory: Path, key: str | None) -> CliRunResult:
    if (key is None) == (not invocation.options.get("all")):
        raise MnemonError(INVALID_PARAMS, "name one prompt, or give --all", hint="mnemonctl prompts show lists them")
    path = directory / FOLDER / FILE
    try:
        content = edited(directory, FILE)
        left = b"" if key is None else without(content.decode("utf-8-sig"), [key]).encode()
        if left == content:
            return _result(invocation, {"reset": []}, f"{key} is that of this release")
        replace_file(path.with_name(f"{FILE}.bak"), content)
        path.unlink() if not left.strip() else replace_file(path, left)
    except FileNotFoundError:
        return _result(invocation, {"reset": []}, "all prompts are those of this release")
    except (OSError, ValueError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise MnemonError(STORAGE, f"{path} cannot be changed: {why}", hint="mend it by hand, or use --all") from error
    done = list(ARGUMENTS) if key is None else [key]
    what = "all prompts are" if key is None else f"{key} is"
    return _result(
        invocation, {"reset": done}, f"{what} that of this release again; {one_line(str(path))}.bak has yours"
    )


def _check(invocation: Invocation, found: Prompts, path: Path) -> CliRunResult:
    _usable(found)
    own = [each.key for each in found.by_key.values() if each.origin == str(path)]
    lines = [f"note: {one_line(sentence)}" for sentence in found.warnings]
    lines.append(f"fine: {', '.join(own)} of {one_line(str(path))}" if own else "fine: all prompts are of this release")
    return _result(invocation, {"ok": True, "own": own, "warnings": found.warnings}, "\n".join(lines))


def _result(invocation: Invocation, facts: Mapping[str, object], text: str) -> CliRunResult:
    output = invocation.output
    return CliRunResult(0, False, output.json(dict(facts)) if output.form == "json" else f"{text}\n", "")
