"""The Grafana dashboards: run this to write ``dashboards/*.json`` anew.

    python deploy/grafana/generate.py            (or with another folder to write to)

Rules of the queries: a rate is taken of each series before anything is summed, so that a replica's restart is no dip;
every sum names what it keeps, so that it is right for any number of replicas; ``job`` keeps apart what one Prometheus
scrapes of several installations.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from panels import bars, dashboard, heat_map, lines, linked, query, row, stat, variable

Json = dict[str, Any]

FOLDER = Path(__file__).parent / "dashboards"

SLOW_SECONDS = "1.024"
"""What may be added to an exchange by the objective in ``prometheus/groundwarden.rules.yaml``: a bucket's edge."""
MAY_BE_SLOW = 0.01

JOB = 'job=~"$job"'
POLICY = f'{JOB},tenant=~"$tenant",policy=~"$policy"'
TENANT = f'{JOB},tenant=~"$tenant"'
FULL = f'{POLICY},model=~"$model",surface=~"$surface"'
JUDGED = f'groundwarden_requests_total{{{FULL},outcome!="error"}}'
BLOCKED = f'groundwarden_requests_total{{{FULL},outcome="blocked"}}'
WINDOW, RANGE = "$__rate_interval", "$__range"


def per_second(selector: str, by: str = "") -> str:
    """Events a second, of all replicas together."""
    return _sum(f"rate({selector}[{WINDOW}])", by)


def in_range(selector: str, by: str = "") -> str:
    """Events in the time shown, of all replicas together."""
    return _sum(f"increase({selector}[{RANGE}])", by)


def share(part: str, whole: str) -> str:
    """A part of a whole; 0 where the whole is there and the part is not."""
    return f"({part} or 0 * {whole}) / {whole}"


def quantile(at: float, histogram: str, selector: str, by: str = "") -> str:
    """A quantile of a histogram, over all replicas."""
    keep = f"le, {by}" if by else "le"
    return f"histogram_quantile({at}, sum by ({keep}) (rate({histogram}_bucket{{{selector}}}[{WINDOW}])))"


def buckets(histogram: str, selector: str) -> str:
    """A histogram's buckets over time, for a heat map."""
    return f"sum by (le) (increase({histogram}_bucket{{{selector}}}[{WINDOW}]))"


def _sum(inner: str, by: str) -> str:
    return f"sum by ({by}) ({inner})" if by else f"sum({inner})"


def quantiles(histogram: str, selector: str = JOB) -> list[Json]:
    """Half of them, most, and nearly all."""
    return [query(quantile(at, histogram, selector), f"p{round(at * 100)}") for at in (0.5, 0.95, 0.99)]


def scores(check: str) -> Json:
    """A heat map of a check's scores."""
    about = f"Scores of judged answers. Those below the policy's {check} threshold are blocked, flagged or redacted."
    selector = f'{POLICY},check="{check}"'
    return heat_map(f"{check.capitalize()} scores", about, "none", buckets("groundwarden_score", selector))


def choices(*, tenant_alone: bool = False) -> list[Json]:
    """The variables that narrow a dashboard down."""
    series = f"groundwarden_requests_total{{{JOB}}}"
    return [
        variable("job", "Job", "label_values(groundwarden_build_info, job)"),
        variable("tenant", "Tenant", f"label_values({series}, tenant)", multi=not tenant_alone),
        variable("policy", "Policy", f"label_values({series}, policy)"),
        variable("model", "Model", f"label_values({series}, model)"),
        variable("surface", "Surface", f"label_values({series}, surface)"),
    ]


def outcomes() -> list[Json]:
    """What became of the exchanges, for the overview and for one tenant alike."""
    return [
        lines(
            "Exchanges by outcome",
            "error: answered 4xx or 5xx before a verdict. unchecked: nothing to check against. unscored: the scorer "
            "failed and the policy lets that pass.",
            "reqps",
            query(per_second(f"groundwarden_requests_total{{{FULL}}}", "outcome"), "{{outcome}}"),
            stacked=True,
        ),
        lines(
            "Blocks by check",
            "What blocked, in any model and surface. An answer that fails two checks counts for both.",
            "reqps",
            query(per_second(f"groundwarden_blocks_total{{{POLICY}}}", "check"), "{{check}}"),
            stacked=True,
        ),
    ]


def unjudged() -> list[Json]:
    """What passed without a judgement."""
    return [
        lines(
            "Passed unjudged, by reason",
            "no_source: nothing to check against. scorer_error: the scorer failed and the policy lets that pass.",
            "reqps",
            query(per_second(f"groundwarden_bypass_total{{{TENANT}}}", "reason"), "{{reason}}"),
            stacked=True,
        ),
        lines(
            "Share unchecked or unscored, by policy",
            "Of all exchanges with a verdict.",
            "percentunit",
            query(
                share(
                    per_second(f'groundwarden_requests_total{{{FULL},outcome=~"unchecked|unscored"}}', "policy"),
                    per_second(JUDGED, "policy"),
                ),
                "{{policy}}",
            ),
            most=1,
        ),
    ]


def glance() -> list[Json]:
    """The numbers at the top, of the time shown."""
    everything = f"groundwarden_requests_total{{{FULL}}}"
    unjudged_share = share(
        in_range(f'groundwarden_requests_total{{{FULL},outcome=~"unchecked|unscored"}}'), in_range(JUDGED)
    )
    errors = share(in_range(f'groundwarden_requests_total{{{FULL},outcome="error"}}'), in_range(everything))
    return [
        stat("Exchanges", "In the time shown.", in_range(everything), "short"),
        stat(
            "Blocked", "Share of exchanges with a verdict.", share(in_range(BLOCKED), in_range(JUDGED)), "percentunit"
        ),
        stat("Unjudged", "Share that was unchecked or unscored.", unjudged_share, "percentunit"),
        stat("Errors", "Share answered 4xx or 5xx.", errors, "percentunit", steps=[(0.05, "orange"), (0.2, "red")]),
    ]


def overview() -> Json:
    """All tenants."""
    firing = 'count(ALERTS{alertname=~"Groundwarden.*",alertstate="firing"}) or vector(0)'
    top = [
        *glance(),
        stat(
            "Added, p95",
            "Time beyond the model's, over the time shown; all tenants.",
            f"histogram_quantile(0.95, sum by (le) (increase(groundwarden_added_seconds_bucket{{{JOB}}}[{RANGE}])))",
            "s",
        ),
        stat("Replicas", "Answering Prometheus now.", f"count(groundwarden_build_info{{{JOB}}})", "short"),
        stat(
            "Reloads failing",
            "Replicas whose last attempt to load the policies failed; they keep their last good set.",
            f"sum(groundwarden_policy_last_reload_successful{{{JOB}}} == bool 0)",
            "short",
            steps=[(1, "red")],
        ),
        stat("Alerts", "Firing now.", firing, "short", steps=[(1, "red")]),
    ]
    by_tenant = lines(
        "Block rate by tenant",
        "Of exchanges with a verdict. A name leads to the tenant's own dashboard.",
        "percentunit",
        query(share(per_second(BLOCKED, "tenant"), per_second(JUDGED, "tenant")), "{{tenant}}"),
    )
    return dashboard(
        "groundwarden-overview",
        "Groundwarden / Overview",
        "What passes, what is blocked and why, what goes unjudged, and what it costs.",
        choices(),
        row("At a glance", 4, *top),
        row(
            "Outcomes",
            9,
            *outcomes(),
            linked(by_tenant, "Tenant ${__field.labels.tenant}", TENANT_URL),
        ),
        row("Scores", 9, scores("grounding"), scores("relevance")),
        row("Latency", 9, *latency()),
        row("Unjudged, errors, policies", 9, *unjudged(), *faults()),
    )


TENANT_URL = "/d/groundwarden-tenant?var-tenant=${__field.labels.tenant}&${datasource:queryparam}&${__url_time_range}"


def latency() -> list[Json]:
    """What judging costs, and what the models take; without tenants, which these histograms do not tell apart."""
    added = "groundwarden_added_seconds"
    quick = per_second(f'{added}_bucket{{{JOB},le="{SLOW_SECONDS}"}}')
    slow = f"1 - {quick} / {per_second(f'{added}_count{{{JOB}}}')}"
    return [
        lines("Added to an exchange", "The whole time less the model's.", "s", *quantiles(added)),
        lines(
            f"Share slower than {SLOW_SECONDS} s",
            f"The objective: at most {MAY_BE_SLOW:.0%}. The alert on its budget looks at hours and days.",
            "percentunit",
            query(slow, "slow"),
            query(f"vector({MAY_BE_SLOW})", "objective"),
        ),
        heat_map("Added to an exchange", "All quantiles at once.", "s", buckets(added, JOB)),
        lines(
            "Model, p95",
            "Time spent waiting for the model.",
            "s",
            query(quantile(0.95, "groundwarden_upstream_seconds", f'{JOB},model=~"$model"', "model"), "{{model}}"),
        ),
        lines(
            "First text of a stream",
            "Until the first text leaves.",
            "s",
            *quantiles("groundwarden_first_token_seconds"),
        ),
        lines("Scoring an answer", "Part of what is added.", "s", *quantiles("groundwarden_scoring_seconds")),
    ]


def faults() -> list[Json]:
    """What went wrong."""
    return [
        lines(
            "Errors by surface",
            "Answered 4xx or 5xx before a verdict: wrong keys, bad requests, a full queue, upstream failures.",
            "reqps",
            query(per_second(f'groundwarden_requests_total{{{FULL},outcome="error"}}', "surface"), "{{surface}}"),
        ),
        scorer_failures(),
        lines(
            "Policy reloads",
            "Of all replicas together.",
            "short",
            query(f"sum by (result) (increase(groundwarden_policy_reloads_total{{{JOB}}}[{WINDOW}]))", "{{result}}"),
        ),
        lines(
            "Age of the policies in force",
            "Since each replica last loaded them.",
            "s",
            query(
                f"time() - max by (instance) (groundwarden_policy_last_success_timestamp_seconds{{{JOB}}})",
                "{{instance}}",
            ),
        ),
        lines(
            "Replicas by set of policies",
            "By the version of the set in force. More than one, for longer than an edit takes: some miss the edit.",
            "short",
            query(f"count by (version) (groundwarden_policy_set_info{{{JOB}}})", "{{version}}"),
            stacked=True,
        ),
        lines(
            "Audit records",
            "dropped: too many waited to be written. failed: the file could not be written.",
            "ops",
            query(per_second(f"groundwarden_audit_records_total{{{JOB}}}", "result"), "{{result}}"),
        ),
    ]


def scorer_failures() -> Json:
    """Failures to score, which both the overview and the scorer's dashboard show."""
    return lines(
        "Failures to score",
        "overloaded: callers were told 429 before the model was asked.",
        "ops",
        query(per_second(f"groundwarden_scorer_errors_total{{{JOB}}}", "reason"), "{{reason}}"),
    )


def scorer() -> Json:
    """The scorer: queue, batches, time."""
    pairs, seconds = "groundwarden_scorer_batch_pairs", "groundwarden_scorer_batch_seconds"
    queue = f"groundwarden_scorer_queue_pairs{{{INSTANCE}}}"
    busy = per_second(f"{seconds}_sum{{{INSTANCE}}}", "instance")
    a_pair = f"{per_second(f'{seconds}_sum{{{INSTANCE}}}')} / {per_second(f'{pairs}_sum{{{INSTANCE}}}')}"
    return dashboard(
        "groundwarden-scorer",
        "Groundwarden / Scorer",
        "Whether the scorers keep up. A pair is a claim and a piece of evidence, or a query and a piece of the answer.",
        [
            variable("job", "Job", "label_values(groundwarden_build_info, job)"),
            variable("instance", "Replica", f"label_values(groundwarden_build_info{{{JOB}}}, instance)"),
        ],
        row(
            "At a glance",
            4,
            stat("Pairs waiting", "In all replicas, now.", f"sum({queue})", "short"),
            stat("Pairs scored", "In the time shown.", in_range(f"{pairs}_sum{{{INSTANCE}}}"), "short"),
            stat("Batches", "In the time shown.", in_range(f"{pairs}_count{{{INSTANCE}}}"), "short"),
            stat(
                "Failures",
                "In the time shown; callers turned away included.",
                in_range(f"groundwarden_scorer_errors_total{{{INSTANCE}}}"),
                "short",
                steps=[(1, "red")],
            ),
        ),
        row(
            "Queue",
            9,
            lines(
                "Pairs waiting, by replica",
                "Being scored included. At scorer.queue_pairs callers are turned away with 429.",
                "short",
                query(f"sum by (instance) ({queue})", "{{instance}}"),
            ),
            lines(
                "Busy, by replica",
                "Seconds of batches a second. Near 1 the one worker of an embedded scorer is full: add replicas. "
                "Others run several at once, up to scorer.concurrency.",
                "none",
                query(busy, "{{instance}}"),
            ),
            scorer_failures(),
        ),
        row(
            "Batches",
            9,
            lines(
                "Pairs scored", "", "ops", query(per_second(f"{pairs}_sum{{{INSTANCE}}}", "instance"), "{{instance}}")
            ),
            heat_map("Pairs a batch", "", "none", buckets(pairs, INSTANCE)),
            lines("Time a pair", "Seconds of batches for each pair in them.", "s", query(a_pair, "a pair")),
        ),
        row(
            "Latency",
            9,
            lines("Time a batch", "", "s", *quantiles(seconds, INSTANCE)),
            lines("Scoring an answer", "All its claims, waiting included.", "s", *quantiles(ANSWER, INSTANCE)),
            heat_map("Scoring an answer", "", "s", buckets(ANSWER, INSTANCE)),
        ),
    )


INSTANCE = f'{JOB},instance=~"$instance"'
ANSWER = "groundwarden_scoring_seconds"


def tenant() -> Json:
    """One tenant, and what another threshold would do."""
    return dashboard(
        "groundwarden-tenant",
        "Groundwarden / Tenant",
        "One tenant's traffic. The scores show what another threshold would do.",
        choices(tenant_alone=True),
        row("At a glance", 4, *glance()),
        row(
            "Outcomes",
            9,
            *outcomes(),
            lines(
                "Block rate by policy",
                "Of exchanges with a verdict.",
                "percentunit",
                query(share(per_second(BLOCKED, "policy"), per_second(JUDGED, "policy")), "{{policy}}"),
            ),
        ),
        row("Scores", 9, scores("grounding"), scores("relevance")),
        row("Thresholds", 12, *(distribution(check) for check in CHECKS), *(below(check) for check in CHECKS)),
        row(
            "Where",
            9,
            lines(
                "By model",
                "",
                "reqps",
                query(per_second(f"groundwarden_requests_total{{{FULL}}}", "model"), "{{model}}"),
            ),
            lines(
                "By surface",
                "",
                "reqps",
                query(per_second(f"groundwarden_requests_total{{{FULL}}}", "surface"), "{{surface}}"),
            ),
            lines(
                "Block rate by model",
                "",
                "percentunit",
                query(share(per_second(BLOCKED, "model"), per_second(JUDGED, "model")), "{{model}}"),
            ),
        ),
        row("Unjudged, asked again", 9, *unjudged(), retries()),
        row("Shadow policies", 10, *shadows()),
    )


def retries() -> Json:
    """How often the model was asked again."""
    return lines(
        "Models asked again",
        "After an answer that was not supported, where the policy says retry.",
        "ops",
        query(per_second(f"groundwarden_retries_total{{{POLICY}}}", "policy"), "{{policy}}"),
    )


def shadows() -> list[Json]:
    """What the second policies would have done to the traffic that they saw."""
    selector = f'groundwarden_shadow_total{{{POLICY},shadow_outcome!="skipped"}}'
    blocked = f'groundwarden_shadow_total{{{POLICY},shadow_outcome!="skipped",outcome="blocked"}}'
    would = f'groundwarden_shadow_total{{{POLICY},shadow_outcome="blocked"}}'
    return [
        lines(
            "Block rate, in force and in the shadow",
            "Of the exchanges that both judged.",
            "percentunit",
            query(share(per_second(blocked, "policy"), per_second(selector, "policy")), "{{policy}}, in force"),
            query(share(per_second(would, "shadow"), per_second(selector, "shadow")), "{{shadow}}, in the shadow"),
        ),
        bars(
            "What would change",
            "Exchanges by the outcome they had and the one that the shadow would give. skipped: no room to judge.",
            "short",
            query(
                in_range(f"groundwarden_shadow_total{{{POLICY}}}", "shadow, outcome, shadow_outcome"),
                "{{shadow}}: {{outcome}} → {{shadow_outcome}}",
                instant=True,
            ),
        ),
        heat_map(
            "Grounding scores in the shadow",
            "They differ from those in force only by a calibration of the shadow's own.",
            "none",
            buckets("groundwarden_shadow_score", f'{TENANT},check="grounding"'),
        ),
    ]


CHECKS = ("grounding", "relevance")


def distribution(check: str) -> Json:
    """How many answers had which score."""
    expr = in_range(f'groundwarden_score_bucket{{{POLICY},check="{check}"}}', "le")
    about = "Answers in the time shown, each bar up to the score beside it."
    return bars(f"{check.capitalize()} scores", about, "short", query(expr, "{{le}}", instant=True, form="heatmap"))


def below(check: str) -> Json:
    """What a threshold would catch."""
    selector = f'{POLICY},check="{check}"'
    part = in_range(f"groundwarden_score_bucket{{{selector}}}", "le")
    whole = in_range(f"groundwarden_score_count{{{selector}}}")
    about = f"Share of answers that score at most so much: what about this {check} threshold would block."
    if check == "relevance":
        about += " From 0.85 on that is too much: once a claim has it, none after it is asked."
    title = f"Caught by a {check} threshold of"
    return bars(
        title, about, "percentunit", query(f"{part} / ignoring (le) group_left () {whole}", "{{le}}", instant=True)
    )


def rendered() -> dict[str, str]:
    """Every dashboard's file name and JSON text."""
    made = {"overview": overview(), "scorer": scorer(), "tenant": tenant()}
    return {f"{name}.json": json.dumps(one, indent=2, ensure_ascii=False) + "\n" for name, one in made.items()}


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if sys.argv[1:] else FOLDER
    for name, text in rendered().items():
        (folder / name).write_text(text, encoding="utf-8")
