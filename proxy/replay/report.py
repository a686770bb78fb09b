"""What a replay found, counted: as an object for programs, as tables for a terminal."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from proxy.grounding.types import Outcome
from proxy.replay.judging import WHY
from proxy.tables import table

if TYPE_CHECKING:
    from proxy.replay.judging import Replayed
    from proxy.replay.rows import Row

MAX_SHOWN = 20
"""Exchanges that a terminal is shown one by one; the object has all."""

_BLOCKED = Outcome.BLOCKED.value


@dataclass(slots=True)
class _Blocks:
    """How many were blocked, and would be: certainly, and at most."""

    was: int = 0
    at_least: int = 0
    at_most: int = 0

    def add(self, *, was: bool, surely: bool, maybe: bool) -> None:
        self.was += was
        self.at_least += surely
        self.at_most += maybe

    @property
    def told(self) -> str:
        return str(self.at_least) if self.at_least == self.at_most else f"{self.at_least} to {self.at_most}"

    @property
    def object(self) -> dict[str, int]:
        return {"was": self.was, "at_least": self.at_least, "at_most": self.at_most}


@dataclass(slots=True)
class _Tenant:
    exchanges: int = 0
    changed: int = 0
    unsure: int = 0
    blocked: _Blocks = field(default_factory=_Blocks)


class Report:
    """Takes exchanges one by one. ``policy`` is ``name@version`` of the one replayed."""

    def __init__(self, policy: str) -> None:
        self._policy = policy
        self._outcomes: Counter[tuple[str, tuple[str, ...]]] = Counter()
        self._why: Counter[str] = Counter()
        self._policies: Counter[str] = Counter()
        self._tenants: dict[str, _Tenant] = {}
        self._checks: dict[str, _Blocks] = {}
        self._blocked = _Blocks()
        self._rows: list[dict[str, Any]] = []
        self.unreadable = self.left_out = self.rescored = 0
        self.notes: list[str] = []

    @property
    def exchanges(self) -> int:
        """How many were replayed."""
        return self._outcomes.total()

    def add(self, row: Row, found: Replayed) -> None:
        """Count one exchange."""
        same = found.outcomes == (row.outcome,)
        self._outcomes[row.outcome, found.outcomes] += 1
        self._why.update(found.why)
        self._policies[row.policy or "none"] += 1
        surely, maybe = found.outcomes == (_BLOCKED,), _BLOCKED in found.outcomes
        tenant = self._tenants.setdefault(row.tenant, _Tenant())
        tenant.exchanges += 1
        tenant.changed += found.certain and not same
        tenant.unsure += not found.certain
        for blocks in (tenant.blocked, self._blocked):
            blocks.add(was=row.outcome == _BLOCKED, surely=surely, maybe=maybe)
        was = set(row.reasons) if row.outcome == _BLOCKED else set()
        for check in was | found.may_block:
            self._checks.setdefault(check, _Blocks()).add(
                was=check in was, surely=surely and check in found.blocks, maybe=maybe and check in found.may_block
            )
        if not same:
            self._rows.append(_row(row, found))

    @property
    def object(self) -> dict[str, Any]:
        """Everything, for JSON."""
        certain = [(was, now, n) for (was, now), n in sorted(self._outcomes.items()) if len(now) == 1]
        unsure = [(was, now, n) for (was, now), n in sorted(self._outcomes.items()) if len(now) > 1]
        return {
            "policy": self._policy,
            "exchanges": self.exchanges,
            "same": sum(n for was, now, n in certain if now == (was,)),
            "changed": sum(n for was, now, n in certain if now != (was,)),
            "unsure": sum(n for _, _, n in unsure),
            "rescored": self.rescored,
            "left_out": self.left_out,
            "unreadable_lines": self.unreadable,
            "judged_by": dict(sorted(self._policies.items())),
            "blocked": self._blocked.object,
            "outcomes": [{"was": was, "would_be": now[0], "exchanges": n} for was, now, n in certain],
            "unsure_outcomes": [{"was": was, "may_be": list(now), "exchanges": n} for was, now, n in unsure],
            "why_unsure": {word: {"exchanges": n, "meaning": WHY[word]} for word, n in sorted(self._why.items())},
            "tenants": {
                name: {
                    "exchanges": tenant.exchanges,
                    "changed": tenant.changed,
                    "unsure": tenant.unsure,
                    "blocked": tenant.blocked.object,
                }
                for name, tenant in sorted(self._tenants.items())
            },
            "checks": {name: blocks.object for name, blocks in sorted(self._checks.items())},
            "rows": self._rows,
            "notes": self.notes,
        }

    @property
    def text(self) -> str:
        """The same for a terminal, the exchanges cut to the first few."""
        told = self.object
        head = f"{told['exchanges']} exchanges under {self._policy}: {told['same']} as they were, "
        head += f"{told['changed']} otherwise, {told['unsure']} not certain"
        parts = ["\n".join([head, *self.notes]), self._outcome_table(), self._tenant_table()]
        if self._checks:
            rows = [[name, str(each.was), each.told] for name, each in sorted(self._checks.items())]
            parts.append(table(["blocked by", "was", "would be"], rows))
        if self._why:
            parts.append(table(["not certain", "why"], [[str(n), WHY[word]] for word, n in self._why.most_common()]))
        if self._rows:
            parts.append(self._row_table())
        return "\n\n".join(parts)

    def _outcome_table(self) -> str:
        rows = [[was, " or ".join(now), str(n)] for (was, now), n in sorted(self._outcomes.items())]
        return table(["was", "would be", "exchanges"], rows)

    def _tenant_table(self) -> str:
        rows = [
            [
                name or "(unknown)",
                *map(str, (one.exchanges, one.changed, one.unsure, one.blocked.was)),
                one.blocked.told,
            ]
            for name, one in sorted(self._tenants.items())
        ]
        return table(["tenant", "exchanges", "changed", "not certain", "blocked", "would be"], rows)

    def _row_table(self) -> str:
        rows = [
            [row["time"], row["request_id"], row["tenant"], row["was"], " or ".join(row["would_be"])]
            for row in self._rows[:MAX_SHOWN]
        ]
        shown = table(["time", "request id", "tenant", "was", "would be"], rows)
        left = len(self._rows) - len(rows)
        return f"{shown}\n… and {left} more; all are in the JSON that a pipe gets" if left else shown


def _row(row: Row, found: Replayed) -> dict[str, Any]:
    told: dict[str, Any] = {
        "time": row.time,
        "request_id": row.request_id,
        "tenant": row.tenant,
        "policy": row.policy,
        "was": row.outcome,
        "would_be": list(found.outcomes),
        "checks": sorted(found.may_block),
    }
    return told if found.certain else {**told, "why": sorted(found.why)}
