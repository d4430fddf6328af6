"""A board as a dashboard of Grafana: places on the grid, variables, links to explain and to traces."""

import json
from urllib.parse import quote

from grafana_foundation_sdk.builders import common as common_builders
from grafana_foundation_sdk.builders import dashboard as builders
from grafana_foundation_sdk.builders import prometheus, timeseries
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import common
from grafana_foundation_sdk.models import dashboard as models

from sereno.deploy.dashboards.board import Board, Panel

TAG = "sereno"
SOURCE = models.DataSourceRef(type_val="prometheus", uid="${datasource}")
_WIDTH, _HEIGHT = 8, 8
_EVERYTHING = models.VariableOption(selected=True, text="All", value="$__all")
_EXPLAIN = "${execution}/v1/explain/${id}"
_EVENTS = "${execution}/v1/history?from=${__from:date:iso}&to=${__to:date:iso}"
_PANE = {
    "a": {
        "datasource": "${traces}",
        "queries": [
            {
                "refId": "A",
                "queryType": "traceql",
                "query": '{ resource.service.namespace = "sereno" }',
                "datasource": {"type": "tempo", "uid": "${traces}"},
            }
        ],
        "range": {"from": "${__from}", "to": "${__to}"},
    }
}
# What Grafana fills in must not be escaped.
_TRACES = "/explore?schemaVersion=1&panes=" + quote(json.dumps(_PANE), safe="${}:_")


def text_of(board: Board) -> str:
    """The dashboard in JSON, the same for the same board."""
    return json.dumps(build(board), cls=JSONEncoder, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def build(board: Board) -> models.Dashboard:
    """The dashboard of a board."""
    built = (
        builders.Dashboard(board.title)
        .uid(f"sereno-{board.name}")
        .description(board.description)
        .tags([TAG])
        .readonly()
        .tooltip(models.DashboardCursorSync.CROSSHAIR)
        .time("now-1h", "now")
        .refresh("10s")
        .variables(_variables())
        .link(_others())
    )
    for number, panel in enumerate(board.panels):
        built.with_panel(_panel(panel, number))
    return built.build()


def _variables() -> list[Builder[models.VariableModel]]:
    return [
        builders.DatasourceVariable("datasource").label("Metrics").type("prometheus"),
        builders.DatasourceVariable("traces").label("Traces").type("tempo"),
        _label("tenant", "Tenant", "label_values(sereno_manifest_age_seconds, tenant)"),
        _label("family", "Family", "label_values(sereno_ingress_events_total, family)"),
        builders.TextBoxVariable("execution").label("Execution plane").default_value("http://localhost:7701"),
        builders.TextBoxVariable("id")
        .label("Explain")
        .description("rcp_…, msg_… or sus_…")
        .default_value(""),
    ]


def _label(name: str, label: str, query: str) -> builders.QueryVariable:
    return (
        builders.QueryVariable(name)
        .label(label)
        .datasource(SOURCE)
        .query(query)
        .refresh(models.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .multi(multi=True)
        .include_all(include_all=True)
        .all_value(".*")
        .current(_EVERYTHING)
    )


def _others() -> builders.DashboardLink:
    return (
        builders.DashboardLink("Sereno")
        .type(models.DashboardLinkType.DASHBOARDS)
        .tags([TAG])
        .as_dropdown(as_dropdown=True)
        .include_vars(include_vars=True)
        .keep_time(keep_time=True)
    )


def _panel(panel: Panel, number: int) -> timeseries.Panel:
    built = (
        timeseries.Panel()
        .id(number + 1)
        .title(panel.title)
        .description(panel.description)
        .datasource(SOURCE)
        .unit(panel.unit)
        .min(0)
        .grid_pos(models.GridPos(h=_HEIGHT, w=_WIDTH, x=number % 3 * _WIDTH, y=number // 3 * _HEIGHT))
        .legend(
            common_builders.VizLegendOptions()
            .display_mode(common.LegendDisplayMode.LIST)
            .placement(common.LegendPlacement.BOTTOM)
            .show_legend(show_legend=True)
        )
        .tooltip(
            common_builders.VizTooltipOptions()
            .mode(common.TooltipDisplayMode.MULTI)
            .sort(common.SortOrder.DESCENDING)
        )
        .show_points(common.VisibilityMode.NEVER)
        .fill_opacity(20 if panel.stacked else 0)
        .stacking(
            common_builders.StackingConfig()
            .group("A")
            .mode(common.StackingMode.NORMAL if panel.stacked else common.StackingMode.NONE)
        )
        .links(_links())
    )
    for place, query in enumerate(panel.queries):
        built.with_target(
            prometheus.Dataquery()
            .ref_id(chr(ord("A") + place))
            .expr(query.expr)
            .legend_format(query.legend)
            .datasource(SOURCE)
            .range()
        )
    if panel.line is not None:
        built.thresholds(_thresholds(panel.line))
        built.thresholds_style(
            common_builders.GraphThresholdsStyleConfig().mode(common.GraphThresholdsStyleMode.LINE)
        )
    return built


def _links() -> list[Builder[models.DashboardLink]]:
    return [
        builders.DashboardLink("Explain this id")
        .type(models.DashboardLinkType.LINK)
        .url(_EXPLAIN)
        .target_blank(target_blank=True),
        builders.DashboardLink("Events of this time")
        .type(models.DashboardLinkType.LINK)
        .url(_EVENTS)
        .target_blank(target_blank=True),
        builders.DashboardLink("Traces of this time").type(models.DashboardLinkType.LINK).url(_TRACES),
    ]


def _thresholds(line: float) -> builders.ThresholdsConfig:
    return (
        builders.ThresholdsConfig()
        .mode(models.ThresholdsMode.ABSOLUTE)
        .steps([models.Threshold(value=None, color="green"), models.Threshold(value=line, color="red")])
    )
