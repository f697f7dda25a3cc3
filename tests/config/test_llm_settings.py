"""The settings of a language model, and keys of other projects' configurations."""

from __future__ import annotations

from pathlib import Path

import pytest

from mnemond.config.loading import SETTINGS, Sources, load, loaded
from mnemond.config.settings import REFUSED, Config, config_from
from mnemond.config.writing import LlmSettings
from mnemond.errors import CONFIG, MnemonError
from mnemond.model.outcomes import RememberResult
from tests.memory.audit_world import AuditWorld
from tests.tables import each_row

PUBLISHED = (
    "diff.enabled", "diff.update", "diff.duplicate", "diff.cosine_override", "diff.novelty", "diff.min_tokens",
    "diff.same_category", "diff.limit", "storage.db_path", "storage.in_memory",
    "commitment.substance_filter.enabled", "commitment.substance_filter.min_confidence",
    "commitment.substance_filter.mode", "commitment.redundancy.enabled", "commitment.redundancy.threshold",
    "commitment.redundancy.alpha_nmi", "commitment.redundancy.estimator", "commitment.redundancy.bins",
    "commitment.redundancy.temporal_bonus", "commitment.redundancy.temporal_half_life_hours",
    "commitment.redundancy.boost_max", "commitment.redundancy.boost_crit", "commitment.redundancy.boost_scale",
    "commitment.redundancy.evict", "commitment.entity_extraction.enabled", "commitment.entity_extraction.mode",
    "commitment.entity_extraction.types", "commitment.hypothetical_queries.enabled",
    "commitment.hypothetical_queries.triggers", "commitment.hypothetical_queries.max_queries",
    "commitment.edge_similarity.alpha_key", "commitment.edge_similarity.threshold", "extraction.enabled",
    "extraction.engine", "extraction.llm_model", "extraction.message_window", "extraction.similarity_threshold",
    "extraction.importance_threshold", "extraction.batch_size", "extraction.top_k",
    "extraction.auto_resolve_conflicts", "retrieval.limit", "retrieval.vector_weight", "retrieval.graph_weight",
    "retrieval.keyword_weight", "retrieval.rerank_enabled", "retrieval.rerank.timeout_s",
    "lifecycle.decay_interval", "lifecycle.prune_interval", "lifecycle.decay_curve", "lifecycle.half_life_days",
    "pruning.enabled", "pruning.threshold", "core_summary.enabled", "core_summary.update_frequency",
    "core_summary.max_subset_nodes", "core_summary.clustering_k", "core_summary.extra_nodes",
    "core_summary.theta_connectivity", "core_summary.theta_boost", "core_summary.theta_recency",
    "core_summary.theta_entropy", "core_summary.recency_half_life_days", "core_summary.entropy_mode",
    "core_summary.max_words", "core_summary.seed", "llm.provider", "llm.endpoint",
    "llm.model", "llm.timeout_s", "llm.max_retries", "scopes.user_id", "scopes.session_id", "scopes.agent_id",
)  # fmt: skip


def config_of(tmp_path: Path, text: str) -> Config:
    path = tmp_path / "config.toml"
    path.write_text(text)
    return load(path)


def message_of(tmp_path: Path, text: str) -> str:
    with pytest.raises(MnemonError) as caught:
        config_of(tmp_path, text)
    assert caught.value.kind is CONFIG
    return caught.value.message


def test_no_model_is_configured_by_default() -> None:
    assert LlmSettings().provider == "none"
    assert Config().extraction.engine == "rules"


def test_a_model_is_what_the_configuration_says(tmp_path: Path) -> None:
    text = (
        '[llm]\nprovider = "openai"\nendpoint = "https://host/v1"\nmodel = "m"\napi_key_env = "KEY"\ntimeout_s = 5\n'
        'max_calls_per_day = 6\nmax_tokens_per_day = 7\nprompt_profile = "large"\n[extraction]\nengine = "auto"\n'
    )
    config = config_of(tmp_path, text)
    assert config.llm == LlmSettings("openai", "https://host/v1", "m", "KEY", 5.0, 6, 7, "large")
    assert config.extraction.engine == "auto"


def test_ollama_has_an_address_and_a_model_by_default() -> None:
    ollama = LlmSettings("ollama")
    assert (ollama.address, ollama.model_name) == ("http://localhost:11434", "qwen2.5:3b")
    assert LlmSettings("openai").model_name == ""


@each_row(
    ("text", "expected"),
    [
        ('[llm]\nprovider = "openai"\nmodel = "m"\n', '2: llm.provider = "openai" needs llm.endpoint'),
        ('[llm]\nprovider = "openai"\nendpoint = "https://h"\n', 'llm.provider = "openai" needs llm.model'),
        ('[extraction]\nengine = "llm"\n', '2: extraction.engine = "llm" needs a model: set llm.provider'),
        ('[extraction]\nllm_model = "m"\n', '2: unknown key "extraction.llm_model": set llm.model;'),
        ("[core_summary]\nclustering_k = 0\n", "2: core_summary.clustering_k"),
        ('[core_summary]\nengine = "llm"\n', '2: core_summary.engine = "llm" needs a model: set llm.provider'),
        (
            "[core_summary]\ntheta_connectivity = 0\ntheta_boost = 0\ntheta_recency = 0\ntheta_entropy = 0\n",
            "one of the weights core_summary.theta_… must be above 0",
        ),
        ("[lifecycle]\nhalf_life_days = 3\n", "set retrieval.temporal_decay.midpoint_days"),
        ('[llm]\nmodel_name = "m"\n', '2: unknown key "llm.model_name"; did you mean "llm.model"?'),
    ],
)
def test_what_does_not_fit_is_refused_with_where_it_is_set(tmp_path: Path, text: str, expected: str) -> None:
    assert expected in message_of(tmp_path, text)


def test_a_variable_and_an_option_are_refused_with_the_same_hint(tmp_path: Path) -> None:
    with pytest.raises(MnemonError, match=r"stands for no setting: set llm\.model"):
        loaded(Sources(tmp_path / "config.toml", {"MNEMON_EXTRACTION__LLM_MODEL": "m"}))
    with pytest.raises(MnemonError, match=r"a setting that exists: set embedding\.batch_size"):
        loaded(Sources(tmp_path / "config.toml", arguments=("extraction.batch_size=3",)))


@each_row("path", PUBLISHED)
def test_every_published_key_works_or_is_refused_with_its_place(tmp_path: Path, path: str) -> None:
    if path in SETTINGS:
        return
    table, _, key = path.rpartition(".")
    message = message_of(tmp_path, f"[{table}]\n{key} = 1\n")
    assert f"{REFUSED.get(path) or REFUSED[path.partition('.')[0]]}" in message


def test_weights_of_the_core_summary_are_scaled_to_one(tmp_path: Path) -> None:
    assert Config().core_summary.weights() == (0.3, 0.3, 0.2, 0.2)
    given = "[core_summary]\ntheta_connectivity = 0.6\ntheta_boost = 0.6\ntheta_recency = 0.4\ntheta_entropy = 0.4\n"
    scaled = config_of(tmp_path, given).core_summary
    assert scaled.weights() == pytest.approx((0.3, 0.3, 0.2, 0.2))
    assert scaled.warning() == "the weights core_summary.theta_… sum to 2; they are scaled to a sum of 1"
    assert Config().core_summary.warning() == ""


def test_a_setting_is_not_refused() -> None:
    assert not REFUSED.keys() & SETTINGS.keys()
    assert not {path.partition(".")[0] for path in SETTINGS} & REFUSED.keys()


def named(tmp_path: Path, text: str, content: str) -> RememberResult:
    world = AuditWorld(tmp_path / "a.db", config_of(tmp_path, text))
    try:
        outcome = world.remember(content)
        assert isinstance(outcome, RememberResult)
        return outcome
    finally:
        world.engine.close()


def test_only_the_configured_kinds_of_names_are_taken(tmp_path: Path) -> None:
    content = "Ana Silva moved the billing service to PostgreSQL"
    everything = named(tmp_path, "", content).entities
    (tmp_path / "other").mkdir()
    tools = named(tmp_path / "other", '[commitment.entity_extraction]\ntypes = ["tool"]\n', content).entities
    assert set(tools) < set(everything)
    assert "PostgreSQL" in tools
    assert "Ana Silva" not in tools


def test_no_names_are_taken_if_disabled(tmp_path: Path) -> None:
    text = "[commitment.entity_extraction]\nenabled = false\n"
    assert named(tmp_path, text, "Ana Silva moved the billing service to PostgreSQL").entities == ()


def test_no_questions_are_stored_for_other_triggers(tmp_path: Path) -> None:
    content = "Fixed the error in the login test by pinning the driver"
    assert named(tmp_path, "", content).hypothetical_queries
    (tmp_path / "other").mkdir()
    text = '[commitment.hypothetical_queries]\ntriggers = ["learning-failure"]\n'
    assert named(tmp_path / "other", text, content).hypothetical_queries == []


def test_what_is_sent_where_is_a_sentence_for_each_server(tmp_path: Path) -> None:
    assert Config().sends() == []
    both = '[embedding]\nprovider = "ollama"\n[llm]\nprovider = "openai"\nendpoint = "https://h"\nmodel = "m"\n'
    one, other = config_of(tmp_path, both).sends()
    assert one == "every memory and every query is sent to http://localhost:11434 (embedding.provider)"
    assert other == (
        "parts of conversations and memories are sent to https://h (llm.provider), once a setting `engine`, `resolver`"
        " or `slow_path` names it"
    )
    sent = "parts of conversations and memories are sent to https://h (llm.provider, for {})"
    reading = f'{both}[extraction]\nengine = "auto"\n'
    for text, readers in (
        (reading, "extraction.engine, graph.slow_path"),
        (f'{reading}[graph]\nslow_path = "rules"\n', "extraction.engine"),
        (f'{both}[extraction]\nresolver = "llm"\n', "extraction.resolver"),
        (f'{both}[graph]\nslow_path = "llm"\n', "graph.slow_path"),
    ):
        assert config_of(tmp_path, text).sends()[1:] == [sent.format(readers)]
    gates = f'{both}[commitment.cues]\nengine = "llm"\n[commitment.trigger]\nengine = "llm"\n'
    assert config_of(tmp_path, gates).sends()[1:] == [
        "every new memory is sent to https://h (commitment, engine = llm: trigger, cues)"
    ]


@each_row(
    ("engine", "slow_path", "is_sent"),
    [
        ("rules", "auto", False), ("host", "auto", False), ("auto", "auto", True), ("llm", "auto", True),
        ("rules", "llm", True), ("auto", "rules", False), ("auto", "off", False),
    ],
)  # fmt: skip
def test_links_are_read_by_the_model_where_a_setting_says_so(engine: str, slow_path: str, *, is_sent: bool) -> None:
    given = {"extraction.engine": engine, "graph.slow_path": slow_path, "llm.provider": "ollama"}
    assert config_from(given).links_by_model is is_sent


def test_a_gate_that_could_add_nothing_asks_no_model() -> None:
    def gates(**values: object) -> tuple[str, ...]:
        return config_from(
            {path.replace("__", "."): value for path, value in values.items()}
        ).commitment.read_by_model()

    assert gates() == ()
    assert gates(commitment__substance_filter__engine="llm") == ("substance",)
    assert gates(commitment__substance_filter__engine="llm", commitment__substance_filter__enabled=False) == ()
    assert gates(commitment__entity_extraction__engine="llm", commitment__entity_extraction__mode="provided") == ()
    assert gates(commitment__hypothetical_queries__engine="llm", commitment__hypothetical_queries__max_queries=0) == ()
