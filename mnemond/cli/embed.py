"""`mnemonctl embed`."""

from __future__ import annotations

from typing import Annotated

from mnemond.api.types_extract import CalibrationView, EmbedStatusResult, SwitchView, WorkView
from mnemond.cli.output import Style, fraction, lines, one_line, repeated, short_id
from mnemond.cli.parser import Arguments, Command, Group, Request, UsageError, Words, by_type
from mnemond.model.outcomes import EmbedCalibrateResult, EmbedRunResult, EmbedSwitchResult, ThresholdsView
from mnemond.wire.params import WriteParams, about, plural


class EmbedOptions(WriteParams, frozen=True, kw_only=True):
    """One of these, or an id: the command is for four methods."""

    status: Annotated[bool, about("how many memories have a vector, of which model")] = False
    missing: Annotated[bool, about("make the vectors that are missing")] = False
    all: Annotated[bool, about("make every vector anew")] = False
    switch: Annotated[
        str | None,
        about(
            "change to another embedder: builtin, ollama or openai, with or without the name of a model",
            metavar="PROVIDER[:MODEL]",
            bare=True,
        ),
    ] = None
    abort: Annotated[bool, about("give a switch up and keep the present embedder")] = False
    calibrate: Annotated[bool, about("measure on the store what a cosine means")] = False


_MODES = ("status", "all", "missing", "switch", "abort", "calibrate")


def _request(arguments: Arguments) -> Request:
    modes = [mode for mode in _MODES if mode in arguments.options]
    if modes == ["switch", "abort"] and arguments.options["switch"] == "":
        modes = ["abort"]
    if len(modes) + bool(arguments.words) > 1:
        given = ", ".join([*(f"--{mode}" for mode in modes), *(["an id"] if arguments.words else [])])
        raise UsageError(f"embed does one thing at a time ({given} were given)", "See: mnemonctl embed --help")
    options = {name: value for name, value in arguments.options.items() if name not in _MODES}
    if arguments.words:
        return Request("embed.run", {**options, "id": arguments.identifiers(1)[0]})
    match modes or ["status"]:
        case ["switch"]:
            return Request("embed.switch", {**options, **_target(str(arguments.options["switch"]))})
        case ["abort"]:
            return Request("embed.switch", {**options, "abort": True})
        case ["calibrate"]:
            return Request("embed.calibrate", options)
        case ["status"]:
            return Request("embed.status", options)
        case _:
            return Request("embed.run", {**options, "all": modes == ["all"]})


def _target(word: str) -> dict[str, object]:
    """The part before the first colon is the provider; the rest, which may hold another, is the model."""
    provider, colon, model = word.partition(":")
    if not provider or (colon and not model):
        raise UsageError("--switch needs a provider, as in ollama or ollama:nomic-embed-text", "or --abort")
    return {"provider": provider, "model": model} if model else {"provider": provider}


def _status(result: EmbedStatusResult, style: Style) -> str:
    if style.quiet:
        return lines(f"{result.embedded}/{result.total_insights}")
    memories = plural(result.total_insights, "memory")
    stale = f", {result.stale:,} of another model" if result.stale else ""
    return lines(
        style.strong(f'Store "{one_line(result.store)}"'),
        f"  embedded    {result.embedded:,} of {memories} ({result.coverage * 100:.0f} %){stale}",
        f"  model       {_model(result)}",
        f"  reason      {one_line(result.reason)}" if result.reason else None,
        None if result.work is None else f"  at work     {_work(result.work)}",
        None if result.switch is None else f"  switching   {_progress(result.switch)}",
        f"  calibrated  {_calibration(result.calibration)}",
        f"  links from  {_thresholds(result.thresholds)}",
    )


def _model(result: EmbedStatusResult) -> str:
    if result.model is None:
        return "none"
    available = "available" if result.available else "not available"
    return f"{one_line(result.model)} ({one_line(result.provider or '')}, {result.dimension} dimensions), {available}"


def _work(work: WorkView) -> str:
    failed = f", {work.failed:,} failed" if work.failed else ""
    waiting = f"; waiting: {one_line(work.waiting)}" if work.waiting else ""
    return f"{one_line(work.kind)}, {work.done:,} of {work.total:,}{failed}{waiting}"


def _progress(switch: SwitchView) -> str:
    model = f"to {one_line(switch.to)} ({one_line(switch.provider)})"
    return f"{model}, {switch.done:,} of {switch.total:,}, since {one_line(switch.started_at)}"


def _calibration(found: CalibrationView) -> str:
    if found.unrelated is None or found.paraphrase is None:
        return "no: nothing is known of this model; try --calibrate"
    source = "measured on this store" if found.source == "measured" else "as shipped"
    return f"unrelated {fraction(found.unrelated)}, paraphrases {fraction(found.paraphrase)}, {source}"


def _thresholds(found: ThresholdsView) -> str:
    return f"{fraction(found.link)}, candidates from {fraction(found.review)}"


def _run(result: EmbedRunResult, style: Style) -> str:
    model = one_line(result.model)
    if result.status == "embedded":
        identifier = one_line(str(result.id))
        shown = style.strong(short_id(identifier))
        return lines(identifier if style.quiet else f"Embedded {shown} with {model}{repeated(result)}")
    if result.status == "complete":
        return lines(f"Nothing to do: {one_line(str(result.message))}{repeated(result)}")
    if style.quiet:
        return lines(str(result.succeeded))
    failed = f"; {result.failed:,} failed" if result.failed else ""
    return lines(f"Embedded {plural(int(result.succeeded or 0), 'memory')} with {model}{failed}{repeated(result)}")


def _switch(result: EmbedSwitchResult, style: Style) -> str:
    model = one_line(result.model)
    if style.quiet:
        return lines(model)
    if result.status == "aborted":
        dropped = plural(int(result.dropped or 0), "vector")
        head = f"Gave up the switch to {model}; {dropped} dropped{repeated(result)}"
        return lines(head, f"  {one_line(result.message)}")
    total = plural(int(result.total or 0), "memory")
    return lines(
        f"Switching to {style.strong(model)}: {total} to embed{repeated(result)}",
        f"  {one_line(result.message)}",
        "  how far it is: mnemonctl embed --status",
    )


def _calibrate(result: EmbedCalibrateResult, style: Style) -> str:
    medians = f"unrelated {fraction(result.unrelated)}, paraphrases {fraction(result.paraphrase)}"
    if style.quiet:
        return lines(medians)
    pairs = f"{plural(result.pairs, 'pair')} and {plural(result.paraphrases, 'paraphrase')}"
    return lines(
        f"Calibrated {one_line(result.model)} on {pairs}{repeated(result)}: {medians}",
        f"  links from {_thresholds(result.thresholds)}",
    )


EMBED = Command(
    "embed",
    Group.STORES,
    (
        "mnemonctl embed --status",
        "mnemonctl embed --missing",
        "mnemonctl embed 1a2b3c4d",
        "mnemonctl embed --switch ollama:nomic-embed-text",
        "mnemonctl embed --abort",
        "mnemonctl embed --calibrate",
    ),
    summary="Show the vectors of a store, make them, or change the embedder.",
    words=Words("[ID]", completes="memory"),
    details=(
        "Memories that could not be embedded when they were written are embedded later by themselves.",
        "--missing and --all answer when they are done, and go on if you do not wait; --status shows the progress.",
        "A switch goes on in the background, also after a restart of the daemon. The present vectors serve until then.",
        "Links between memories stay as they are; memories stored after it are linked by the new embedder.",
        "A server is reached only when embedding.provider in config.toml names it.",
    ),
    options=EmbedOptions,
    request=_request,
    render=by_type(
        {
            EmbedStatusResult: _status,
            EmbedRunResult: _run,
            EmbedSwitchResult: _switch,
            EmbedCalibrateResult: _calibrate,
        }
    ),
)
