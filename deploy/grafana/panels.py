"""Parts of Grafana dashboards as plain JSON objects: queries, panels, variables, and rows that lay panels out.

The shapes are Grafana's classic dashboard schema (version 41: Grafana 11.6 and later); a test reads each dashboard with
Grafana's own types. Every query chooses its Prometheus by the variable ``datasource``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

Json = dict[str, Any]

SCHEMA_VERSION = 41
SOURCE: Json = {"type": "prometheus", "uid": "${datasource}"}
COLUMNS = 24
"""Width of a dashboard."""

COLOURS = {
    "passed": "green",
    "flagged": "yellow",
    "redacted": "orange",
    "blocked": "red",
    "unchecked": "blue",
    "unscored": "purple",
    "error": "dark-red",
    "success": "green",
    "failure": "red",
}
"""What a word means keeps its colour on every panel."""

_SUM: Json = {"calcs": ["lastNotNull"], "fields": "", "values": False}


def query(expr: str, legend: str = "", *, instant: bool = False, form: str = "time_series") -> Json:
    """One query; ``form`` is time_series, heatmap or table."""
    return {
        "datasource": SOURCE,
        "expr": expr,
        "legendFormat": legend or "__auto",
        "format": form,
        "instant": instant,
        "range": not instant,
        "editorMode": "code",
    }


def stat(title: str, about: str, expr: str, unit: str, *, steps: Iterable[tuple[float, str]] = ()) -> Json:
    """One number, that of the whole range or of now. ``steps`` colour it from a value on."""
    thresholds = [{"value": None, "color": "green"}, *({"value": value, "color": color} for value, color in steps)]
    options = {
        "graphMode": "none",
        "colorMode": "value",
        "justifyMode": "auto",
        "textMode": "auto",
        "wideLayout": True,
        "showPercentChange": False,
        "percentChangeColorMode": "standard",
        "orientation": "auto",
        "reduceOptions": _SUM,
    }
    defaults = {"unit": unit, "noValue": "-", "thresholds": {"mode": "absolute", "steps": thresholds}}
    return _panel("stat", title, about, [query(expr, instant=True)], options, defaults)


def lines(title: str, about: str, unit: str, *queries: Json, stacked: bool = False, most: float | None = None) -> Json:
    """Lines over time; ``stacked`` when they are parts of a whole, ``most`` the top of the axis."""
    options = {
        "legend": {"displayMode": "table", "placement": "bottom", "showLegend": True, "calcs": ["mean", "lastNotNull"]},
        "tooltip": {"mode": "multi", "sort": "desc"},
    }
    custom = {
        "drawStyle": "line",
        "lineInterpolation": "linear",
        "lineWidth": 1,
        "fillOpacity": 40 if stacked else 8,
        "showPoints": "auto",
        "spanNulls": False,
        "stacking": {"mode": "normal" if stacked else "none", "group": "A"},
    }
    defaults: Json = {"unit": unit, "min": 0, "custom": custom, "color": {"mode": "palette-classic"}}
    if most is not None:
        defaults["max"] = most
    return _panel("timeseries", title, about, queries, options, defaults)


def heat_map(title: str, about: str, unit: str, expr: str) -> Json:
    """Buckets of a histogram over time: the deeper a cell, the more fell into it."""
    options = {
        "calculate": False,
        "cellGap": 1,
        "color": {
            "mode": "scheme",
            "scheme": "Oranges",
            "fill": "dark-orange",
            "scale": "exponential",
            "exponent": 0.5,
            "steps": 64,
            "reverse": False,
        },
        "exemplars": {"color": "rgba(255,0,255,0.7)"},
        "filterValues": {"le": 1e-9},
        "legend": {"show": True},
        "rowsFrame": {"layout": "auto", "value": "Count"},
        "showValue": "never",
        "tooltip": {"mode": "single", "yHistogram": True, "showColorScale": False},
        "yAxis": {"axisPlacement": "left", "reverse": False, "unit": unit},
    }
    custom = {"hideFrom": {"legend": False, "tooltip": False, "viz": False}, "scaleDistribution": {"type": "linear"}}
    return _panel("heatmap", title, about, [query(expr, "{{le}}", form="heatmap")], options, {"custom": custom})


def bars(title: str, about: str, unit: str, one: Json) -> Json:
    """Bars, one for each series of the whole range."""
    options = {
        "displayMode": "basic",
        "valueMode": "color",
        "namePlacement": "auto",
        "showUnfilled": True,
        "sizing": "auto",
        "minVizWidth": 8,
        "minVizHeight": 10,
        "maxVizHeight": 300,
        "orientation": "horizontal",
        "legend": {"displayMode": "list", "placement": "bottom", "showLegend": False, "calcs": []},
        "reduceOptions": _SUM,
    }
    return _panel("bargauge", title, about, [one], options, {"unit": unit, "min": 0, "noValue": "-"})


def linked(panel: Json, title: str, url: str) -> Json:
    """Make each series of a panel lead somewhere."""
    panel["fieldConfig"]["defaults"]["links"] = [
        {
            "title": title,
            "type": "link",
            "icon": "",
            "tooltip": "",
            "url": url,
            "tags": [],
            "asDropdown": False,
            "targetBlank": False,
            "includeVars": False,
            "keepTime": True,
        }
    ]
    return panel


def variable(name: str, label: str, values: str, *, multi: bool = True) -> Json:
    """A list to choose from: the values of a label, ``values`` in Grafana's ``label_values(…)``."""
    chosen: Json = {"text": ["All"], "value": ["$__all"]} if multi else {}
    return {
        "type": "query",
        "name": name,
        "label": label,
        "datasource": SOURCE,
        "definition": values,
        "query": {"query": values, "refId": f"variable-{name}"},
        "refresh": 2,  # when the time range changes, and on load
        "sort": 1,
        "multi": multi,
        "includeAll": multi,
        **({"allValue": ".*", "current": chosen} if multi else {}),
    }


def row(title: str, height: int, *panels: Json) -> list[Json]:
    """A titled row of panels as wide as each other; they wrap when there are more than fit."""
    across = min(len(panels), 8 if height <= 4 else 3)  # noqa: PLR2004 - numbers are small, graphs are not
    width = COLUMNS // across
    placed: list[Json] = [
        {"type": "row", "title": title, "collapsed": False, "panels": [], "gridPos": _place(0, 0, COLUMNS, 1)}
    ]
    for at, panel in enumerate(panels):
        down, right = divmod(at, across)
        placed.append({**panel, "gridPos": _place(right * width, 1 + down * height, width, height)})
    return placed


def dashboard(uid: str, title: str, about: str, variables: list[Json], *rows: list[Json]) -> Json:
    """A whole dashboard, its rows one below the other."""
    return {
        "uid": uid,
        "title": title,
        "description": about,
        "tags": ["groundwarden"],
        "schemaVersion": SCHEMA_VERSION,
        "editable": True,
        "graphTooltip": 1,  # one crosshair on all panels
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "timezone": "browser",
        "fiscalYearStartMonth": 0,
        "links": [_others()],
        "annotations": {"list": [_reloads()]},
        "templating": {"list": [_datasource(), *variables]},
        "panels": _numbered(_stacked(rows)),
    }


def _panel(kind: str, title: str, about: str, queries: Iterable[Json], options: Json, defaults: Json) -> Json:
    targets = [{**one, "refId": chr(ord("A") + at)} for at, one in enumerate(queries)]
    return {
        "type": kind,
        "title": title,
        "description": about,
        "datasource": SOURCE,
        "targets": targets,
        "options": options,
        "fieldConfig": {"defaults": defaults, "overrides": _coloured() if kind == "timeseries" else []},
    }


def _coloured() -> list[Json]:
    return [
        {
            "matcher": {"id": "byName", "options": word},
            "properties": [{"id": "color", "value": {"mode": "fixed", "fixedColor": color}}],
        }
        for word, color in COLOURS.items()
    ]


def _place(x: int, y: int, width: int, height: int) -> Json:
    return {"x": x, "y": y, "w": width, "h": height}


def _stacked(rows: Iterable[list[Json]]) -> list[Json]:
    panels: list[Json] = []
    top = 0
    for placed in rows:
        panels += [{**one, "gridPos": {**one["gridPos"], "y": one["gridPos"]["y"] + top}} for one in placed]
        top = max(one["gridPos"]["y"] + one["gridPos"]["h"] for one in panels)
    return panels


def _numbered(panels: list[Json]) -> list[Json]:
    return [{"id": number, **panel} for number, panel in enumerate(panels, start=1)]


def _datasource() -> Json:
    return {"type": "datasource", "name": "datasource", "label": "Prometheus", "query": "prometheus", "refresh": 1}


def _others() -> Json:
    """A menu of the other dashboards, which open at the same time and with the same choices."""
    return {
        "title": "Groundwarden",
        "type": "dashboards",
        "icon": "external link",
        "tooltip": "",
        "url": "",
        "tags": ["groundwarden"],
        "asDropdown": False,
        "targetBlank": False,
        "includeVars": True,
        "keepTime": True,
    }


def _reloads() -> Json:
    """A mark where policies were loaded: the first thing to look for when a line bends."""
    return {
        "name": "Policies loaded",
        "datasource": SOURCE,
        "enable": True,
        "hide": False,
        "iconColor": "blue",
        "expr": 'max by (instance) (groundwarden_policy_last_success_timestamp_seconds{job=~"$job"}) * 1000',
        "useValueForTime": True,
        "titleFormat": "Policies loaded",
        "textFormat": "{{instance}}",
        "step": "30s",
    }
