"""The configured language model: requests within a deadline, daily maxima, and what it used."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final, NamedTuple

import trio

from mnemond.config.writing import LlmSettings
from mnemond.errors import UNAVAILABLE, MnemonError
from mnemond.http import Address, Deadline, NoAnswerError, Reply, key_of, parse, refusal
from mnemond.llm.budget import Budget, estimated
from mnemond.llm.reader import Answer, ReaderStatus, Schema
from mnemond.llm.replies import first_value, truncated
from mnemond.model_servers import SERVERS, Completion, ModelServer, OllamaServer, Question
from mnemond.text.secrets import redact

FIRST_PAUSE_S: Final = 1.0
LONGEST_PAUSE_S: Final = 8.0
"""Seconds between two requests to a server that loads its model, doubled each time."""

AGAIN_S: Final = 60.0
"""Seconds for which a server that gave no answer is not asked again."""

MAX_AGAIN_S: Final = 3_600.0
"""Longest time that a server can ask to be left alone for."""

AT_ONCE: Final = 2
"""Requests at a time: a server on the same machine works on one after the other."""

LOADING: Final = 503
TOO_MANY: Final = 429
BAD_REQUESTS: Final = (400, 422, 500, 501)
"""Statuses of servers that do not know the schema of an answer, if their text names it."""

SERVICE: Final = "the language model's server at"

SCHEMA_WORDS: Final = (b"response_format", b"json_schema", b"format", b"schema", b"grammar")


class Target(NamedTuple):
    """Where questions are sent."""

    address: Address
    key: str | None


def target_of(settings: LlmSettings, environment: Mapping[str, str]) -> Target | None:
    """Return where the configuration allows questions to be sent; None if nowhere. Raises MnemonError(CONFIG)."""
    if settings.provider == "none":
        return None
    key = key_of(settings.api_key_env, environment, "llm.api_key_env")
    return Target(parse(settings.address, "llm.endpoint"), key)


class ModelReader:
    """The model of `[llm]`; see `Reader`. For the event loop; everything slow happens in threads or on the network."""

    def __init__(
        self,
        settings: LlmSettings,
        target: Target,
        budget: Budget,
        warn: Callable[[str], None],
        *,
        now_s: Callable[[], float] = trio.current_time,
        sleep: Callable[[float], Awaitable[None]] = trio.sleep,
    ) -> None:
        """`warn` is called once a day if a maximum is reached. `now_s` is a monotonic clock, `sleep` waits by it."""
        self.model = settings.model_name
        self._settings = settings
        self._target = target
        self._budget = budget
        self._warn = warn
        self._now_s = now_s
        self._sleep = sleep
        self._server: ModelServer | None = None
        self._turns = trio.CapacityLimiter(AT_ONCE)
        self._enforces = True
        self._down: tuple[float, MnemonError] | None = None  # until when, why
        self._answered = self._failed = 0
        self._last: str | None = None

    def status(self) -> ReaderStatus:
        """Return what is sent where, and what was used."""
        usage, settings = self._budget.usage(), self._settings
        is_down = self._down is not None and self._now_s() < self._down[0]
        return ReaderStatus(
            provider="ollama" if settings.provider == "ollama" else "openai",
            sent=self._target.address.origin,
            model=self.model,
            calls_today=usage.calls,
            max_calls=settings.max_calls_per_day,
            tokens_today=usage.tokens,
            max_tokens=settings.max_tokens_per_day,
            answered=self._answered,
            failed=self._failed,
            waiting=self._budget.stopped() or (self._down[1].message if is_down and self._down else self._last),
        )

    async def ask(self, prompt: str, schema: Schema, *, max_tokens: int) -> Answer:
        """Ask the model; see `Reader`. Raises MnemonError(UNAVAILABLE)."""
        if self._down is not None and self._now_s() < self._down[0]:
            raise self._down[1]
        deadline = Deadline(self._now_s, self._settings.timeout_s)
        try:
            with trio.move_on_after(deadline.left()):
                async with self._turns:
                    answer = await self._answer(prompt, schema, max_tokens, deadline)
                self._answered, self._last, self._down = self._answered + 1, None, None
                return answer
            raise self._silent(deadline)
        except MnemonError as error:
            self._failed, self._last = self._failed + 1, error.message
            if isinstance(error, NoAnswerError):
                self._rest(AGAIN_S, error)
            raise

    async def _answer(self, prompt: str, schema: Schema, max_tokens: int, deadline: Deadline) -> Answer:
        text = (await trio.to_thread.run_sync(redact, prompt)).text
        question = Question(text, schema, max_tokens, enforced=self._enforces)
        server = await self._connected()
        reply = await self._reply(server, question, deadline)
        if question.enforced and self._is_unknown_shape(reply):
            self._enforces = False
            question = question._replace(enforced=False)
            reply = await self._reply(server, question, deadline)
        if reply.status != 200:
            raise self._refused(server, reply)
        done = server.completion(reply)
        if done.cut:
            raise truncated()
        await self._count(question, done)
        value = await trio.to_thread.run_sync(first_value, done.text)
        return Answer(value, self.model, done.prompt_tokens, done.completion_tokens)

    async def _reply(self, server: ModelServer, question: Question, deadline: Deadline) -> Reply:
        """Send a question; repeat it, within the deadline, while the server is loading its model or busy."""
        await self._take(estimated(question.prompt) + question.max_tokens)
        pause = FIRST_PAUSE_S
        while True:
            reply = await server.ask(question, deadline)
            if reply.status not in (LOADING, TOO_MANY):
                return reply
            wait = _seconds(reply.retry_after) or pause
            if wait >= deadline.left():
                error = self._refused(server, reply)
                self._rest(min(wait, MAX_AGAIN_S), error)
                raise error
            await self._sleep(wait)
            pause = min(2 * pause, LONGEST_PAUSE_S)

    async def _connected(self) -> ModelServer:
        if self._server is None:
            make, (address, key) = SERVERS[self._settings.provider], self._target
            made: ModelServer = await trio.to_thread.run_sync(make, address, key, self.model, SERVICE)
            self._server = made
        return self._server

    async def _take(self, tokens: int) -> None:
        """Count a call; log the first that a maximum refuses. Raises MnemonError(UNAVAILABLE)."""
        try:
            await trio.to_thread.run_sync(self._budget.take, tokens)
        except MnemonError as error:
            if self._budget.first_refusal():
                self._warn(error.message)
            raise

    async def _count(self, question: Question, done: Completion) -> None:
        """Replace the estimated tokens by the server's count, if it counts."""
        used = done.prompt_tokens + done.completion_tokens
        if used:
            taken = estimated(question.prompt) + question.max_tokens
            await trio.to_thread.run_sync(self._budget.correct, taken, used)

    def _rest(self, seconds: float, why: MnemonError) -> None:
        self._down = self._now_s() + seconds, MnemonError(why.kind, why.message, hint=why.hint)

    def _is_unknown_shape(self, reply: Reply) -> bool:
        """Return True if the server refuses the request for the schema in it."""
        body = reply.body.lower()
        return reply.status in BAD_REQUESTS and any(word in body for word in SCHEMA_WORDS)

    def _refused(self, server: ModelServer, reply: Reply) -> MnemonError:
        if reply.status == 404 and isinstance(server, OllamaServer):
            return server.missing()
        what, hint = refusal(reply.status, "llm")
        if reply.status == LOADING:
            what, hint = "is still loading its model", "it is asked again later"
        return MnemonError(UNAVAILABLE, f"{server.service} {what} (status {reply.status})", hint=hint)

    def _silent(self, deadline: Deadline) -> NoAnswerError:
        origin = self._target.address.origin
        return NoAnswerError(
            UNAVAILABLE,
            f"{SERVICE} {origin} did not answer within {deadline.seconds:.1f} s",
            hint="see that it runs and is idle, or raise llm.timeout_s",
        )


def _seconds(retry_after: str) -> float:
    """Return the seconds of a header Retry-After (RFC 9110 10.2.3), 0 without one; a date counts as none."""
    return float(retry_after) if retry_after.isascii() and retry_after.isdigit() and len(retry_after) < 8 else 0.0
