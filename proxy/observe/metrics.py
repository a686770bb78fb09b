"""Metrics: every name, label and bucket in one place, fed by one record an exchange.

Labels come from closed sets only. Tenants, policies and models are those of the configuration, all other labels the
words below; whatever else comes in is ``other``. So no caller can make a series, and the number of series has a bound.
The only file that imports prometheus_client; each ``Metrics`` has a registry of its own, so several may exist.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_1_0_0, generate_latest

from proxy.grounding.types import CheckKind, Outcome
from proxy.guard.record import ERROR
from proxy.guard.shadow import SKIPPED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from prometheus_client.metrics_core import Metric

    from proxy.guard.record import Record
    from proxy.guard.shadow import Shadowed

OTHER = "other"
"""The label of everything that is not in its closed set."""

OUTCOMES = frozenset(Outcome) | {ERROR}
"""INTERFACES §8 lists verdicts only; without ``ERROR`` a request answered 4xx or 5xx would be counted nowhere."""
SHADOW_OUTCOMES = OUTCOMES | {SKIPPED}
CHECKS = frozenset({"grounding", "relevance", "missing_context", "uninspected", "scorer_error"})
SURFACES = frozenset(
    {
        "chat",
        "completions",
        "responses",
        "apply_guardrail",
        "converse",
        "invoke",
        "check_grounding",
        "corroborate",
        "detect_groundedness",
    }
)
BYPASSES = frozenset({"no_source", "policy_off", "tool_calls", "json", "images", "scorer_error", "abstention"})
SCORER_ERRORS = frozenset({"timeout", "error", "overloaded"})
RELOADS = frozenset({"success", "failure"})
AUDITED = frozenset({"written", "dropped", "failed"})

SCORE_BUCKETS = tuple(round(step * 0.05, 2) for step in range(1, 21))
"""Steps of 0.05, so that any threshold an operator may choose has an edge near it."""
OWN_SECONDS = tuple(0.001 * 2**step for step in range(16))
"""1 ms to 33 s, doubling: our own work, up to the 30 s that check APIs allow a request."""
UPSTREAM_SECONDS = tuple(0.01 * 2**step for step in range(15))
"""10 ms to 164 s, doubling: a model's work."""
BATCH_PAIRS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
"""Doubling, up to the length that the queue has unless told otherwise."""


class Metrics:
    """The process's metrics. ``tenants``, ``policies`` and ``models`` are the names in the configuration.

    ``tenants`` says of each which policies it may come under.
    """

    def __init__(
        self, tenants: Mapping[str, Iterable[str]], policies: Iterable[str], models: Iterable[str], version: str
    ) -> None:
        self._tenants = frozenset(tenants)
        self._policies = frozenset(policies)
        self._models = frozenset(models)
        self._registry = CollectorRegistry()
        self._define_counts()
        self._define_distributions()
        self._define_states(version)
        self._begin_at_zero(tenants)

    def record(self, record: Record) -> None:
        """Count one exchange: it and each of its checks and bypasses once, each scoring failure by itself."""
        tenant = _within(self._tenants, record.tenant)
        policy = _within(self._policies, record.policy)
        self._count(record, tenant, policy)
        self._observe_scores(record, tenant, policy)
        self._observe_durations(record)

    def set_queue(self, pairs: Callable[[], float]) -> None:
        """Read ``groundwarden_scorer_queue_pairs`` from ``pairs``, which is called at each scrape."""
        self._queue.set_function(pairs)

    def reload(self, result: str, timestamp: float) -> None:
        """Count a policy reload: ``result`` is success or failure, ``timestamp`` when it ended, in Unix seconds."""
        self._reloads.labels(_within(RELOADS, result)).inc()
        self._reloaded.set(result == "success")
        if result == "success":
            self._last_success.set(timestamp)

    def in_force(self, version: str, policies: Iterable[str]) -> None:
        """Say which set of policies is in force: its version, and the names in it, which are labels from now on.

        Only one version is shown at a time, so that a sum over replicas tells whether they agree.
        """
        self._policies |= frozenset(policies)
        self._policy_set.clear()
        self._policy_set.labels(version).set(1)

    def shadowed(self, shadowed: Shadowed) -> None:
        """Count an exchange that a second policy judged too."""
        tenant = _within(self._tenants, shadowed.tenant)
        shadow = _within(self._policies, shadowed.shadow)
        outcomes = (_within(OUTCOMES, shadowed.outcome), _within(SHADOW_OUTCOMES, shadowed.shadow_outcome))
        self._shadows.labels(tenant, _within(self._policies, shadowed.policy), shadow, *outcomes).inc()
        for check, score in ((CheckKind.GROUNDING, shadowed.grounding), (CheckKind.RELEVANCE, shadowed.relevance)):
            if score is not None:
                self._shadow_scores.labels(tenant, shadow, check.value).observe(score)

    def ran(self, pairs: int, seconds: float) -> None:
        """Count a batch that the scorer ran: its pairs, and how long it took. May be called from any thread."""
        self._batch_pairs.observe(pairs)
        self._batch_seconds.observe(seconds)

    def audited(self, result: str) -> None:
        """Count a record of the audit: written, dropped or failed. May be called from any thread."""
        self._audited.labels(_within(AUDITED, result)).inc()

    def render(self) -> tuple[bytes, str]:
        """Return Prometheus's text exposition and its content type."""
        return generate_latest(_WithoutCreated(self._registry)), CONTENT_TYPE_PLAIN_1_0_0

    def _define_counts(self) -> None:
        self._requests = Counter(
            "groundwarden_requests_total",
            "Exchanges, by how they ended; outcome error: failed before a verdict.",
            ("tenant", "policy", "surface", "model", "outcome"),
            registry=self._registry,
        )
        self._blocks = Counter(
            "groundwarden_blocks_total",
            "Blocked exchanges, by each check that blocked them.",
            ("tenant", "policy", "check"),
            registry=self._registry,
        )
        self._bypasses = Counter(
            "groundwarden_bypass_total",
            "Exchanges in which something passed unjudged, by each reason why.",
            ("tenant", "reason"),
            registry=self._registry,
        )
        self._scorer_errors = Counter(
            "groundwarden_scorer_errors_total",
            "Failures to score, by reason.",
            ("reason",),
            registry=self._registry,
        )
        self._reloads = Counter(
            "groundwarden_policy_reloads_total",
            "Attempts to load a changed policy set, by result.",
            ("result",),
            registry=self._registry,
        )

        self._shadows = Counter(
            "groundwarden_shadow_total",
            "Exchanges that a second policy judged too, by both outcomes; skipped: the scorer had no room.",
            ("tenant", "policy", "shadow", "outcome", "shadow_outcome"),
            registry=self._registry,
        )
        self._retries = Counter(
            "groundwarden_retries_total",
            "Times that a model was asked again after a block.",
            ("tenant", "policy"),
            registry=self._registry,
        )
        self._audited = Counter(
            "groundwarden_audit_records_total",
            "Records of the audit: written, dropped because too many waited, or failed to be written.",
            ("result",),
            registry=self._registry,
        )

    def _define_distributions(self) -> None:
        self._scores = Histogram(
            "groundwarden_score",
            "Scores of judged answers, 0 to 1.",
            ("tenant", "policy", "check"),
            buckets=SCORE_BUCKETS,
            registry=self._registry,
        )
        self._shadow_scores = Histogram(
            "groundwarden_shadow_score",
            "Scores by second policies, 0 to 1.",
            ("tenant", "shadow", "check"),
            buckets=SCORE_BUCKETS,
            registry=self._registry,
        )
        self._scoring = self._seconds("groundwarden_scoring_seconds", "Time spent scoring an answer.", OWN_SECONDS)
        self._added = self._seconds(
            "groundwarden_added_seconds", "Time an exchange took beyond its upstream's.", OWN_SECONDS
        )
        self._batch_pairs = Histogram(
            "groundwarden_scorer_batch_pairs",
            "Pairs scored at once.",
            buckets=BATCH_PAIRS,
            registry=self._registry,
        )
        self._batch_seconds = self._seconds(
            "groundwarden_scorer_batch_seconds", "Time the scorer took for one batch.", OWN_SECONDS
        )
        self._first_token = self._seconds(
            "groundwarden_first_token_seconds", "Time to the first text sent to the caller.", UPSTREAM_SECONDS
        )
        self._upstream = Histogram(
            "groundwarden_upstream_seconds",
            "Time the model took to answer.",
            ("model",),
            buckets=UPSTREAM_SECONDS,
            registry=self._registry,
        )

    def _seconds(self, name: str, documentation: str, buckets: tuple[float, ...]) -> Histogram:
        return Histogram(name, documentation, buckets=buckets, registry=self._registry)

    def _define_states(self, version: str) -> None:
        self._queue = Gauge("groundwarden_scorer_queue_pairs", "Pairs waiting for the scorer.", registry=self._registry)
        self._last_success = Gauge(
            "groundwarden_policy_last_success_timestamp_seconds",
            "When a policy set was last loaded, in Unix seconds.",
            registry=self._registry,
        )
        self._reloaded = Gauge(
            "groundwarden_policy_last_reload_successful",
            "1 when the policies on disk are in force, 0 when the last attempt to load them failed.",
            registry=self._registry,
        )
        self._policy_set = Gauge(
            "groundwarden_policy_set_info",
            "The version of the set of policies in force; always 1.",
            ("version",),
            registry=self._registry,
        )
        build = Gauge(
            "groundwarden_build_info", "The running version; always 1.", ("version",), registry=self._registry
        )
        build.labels(version).set(1)

    def _begin_at_zero(self, tenants: Mapping[str, Iterable[str]]) -> None:
        """Show from zero what alerts watch: to Prometheus a series that begins at 1 never rose."""
        for reason in SCORER_ERRORS:
            self._scorer_errors.labels(reason)
        for result in RELOADS:
            self._reloads.labels(result)
        for result in AUDITED:
            self._audited.labels(result)
        for tenant, policies in tenants.items():
            for reason in BYPASSES:
                self._bypasses.labels(tenant, reason)
            for policy in self._policies.intersection(policies):
                for check in CHECKS:
                    self._blocks.labels(tenant, policy, check)

    def _count(self, record: Record, tenant: str, policy: str) -> None:
        surface = _within(SURFACES, record.surface)
        model = _within(self._models, record.model)
        outcome = ERROR if record.outcome is None else record.outcome.value
        self._requests.labels(tenant, policy, surface, model, outcome).inc()
        if record.outcome is Outcome.BLOCKED:
            for check in {_within(CHECKS, reason) for reason in record.reasons}:
                self._blocks.labels(tenant, policy, check).inc()
        for reason in {_within(BYPASSES, bypass) for bypass in record.bypasses}:
            self._bypasses.labels(tenant, reason).inc()
        if record.retries:
            self._retries.labels(tenant, policy).inc(record.retries)
        for error in record.scorer_errors:
            self._scorer_errors.labels(_within(SCORER_ERRORS, error)).inc()

    def _observe_scores(self, record: Record, tenant: str, policy: str) -> None:
        for check, score in ((CheckKind.GROUNDING, record.grounding), (CheckKind.RELEVANCE, record.relevance)):
            if score is not None:
                self._scores.labels(tenant, policy, check.value).observe(score)

    def _observe_durations(self, record: Record) -> None:
        # What was refused at the door cost nothing, and must not make the guard look quick.
        added = None if record.outcome is None else record.added_seconds
        for histogram, seconds in (
            (self._scoring, record.scoring_seconds),
            (self._added, added),
            (self._first_token, record.first_token_seconds),
        ):
            if seconds is not None:
                histogram.observe(seconds)
        if record.upstream_seconds is not None:
            self._upstream.labels(_within(self._models, record.model)).observe(record.upstream_seconds)


class _WithoutCreated:
    """A registry less the ``_created`` series, which the library adds: they are no part of our interface."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    def collect(self) -> Iterator[Metric]:
        """Yield the registry's metrics; each is made anew at every scrape, so it may be changed."""
        for metric in self._registry.collect():
            metric.samples = [sample for sample in metric.samples if not sample.name.endswith("_created")]
            yield metric


def _within(known: frozenset[str], word: str) -> str:
    """Return ``word`` if its closed set has it, else ``other``."""
    return word if word in known else OTHER
