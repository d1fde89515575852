"""``legato traces``: what there is, a look at one, one in our own format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import legato
from legato import _core
from legato.cli import options, terminal
from legato.errors import TraceError
from legato.plan import shipped, specs
from legato.plan import traces as planned

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from legato._core import Trace

    Array = npt.NDArray[np.float64]

app = typer.Typer(
    help="Traces of capacity over time: list, look at, import.", no_args_is_help=True, rich_markup_mode="markdown"
)

_POINTS = 600
_HAIRPIN_FLOOR_BPS = 2_500_000


@app.command("list")
def list_traces(
    patterns: Annotated[
        list[str] | None,
        typer.Argument(metavar="[GLOB]...", help="Files, folders, globs. [default: the shipped ones]"),
    ] = None,
    as_json: options.Json = False,
) -> int:
    """List traces with their family, length and mean rate.

    Examples:

    ```sh
    legato traces list
    legato traces list fcc nyc-lte
    legato traces list '/data/traces/**/*.log' --json
    ```
    """
    if patterns:
        names = specs.names(patterns, "traces", TraceError)
        paths = [Path(address) for name in names for address in planned.addresses(name)]
    else:
        paths = [trace.path for trace in shipped.traces()]
    traces: list[tuple[str, Trace]] = []
    unreadable: list[TraceError] = []
    for path in paths:
        try:
            traces += [(address(path, trace), trace) for trace in _core.load_traces(str(path))]
        except TraceError as error:
            unreadable.append(error)
    if as_json:
        known = ("name", "family", "format", "duration_s", "mean_rate_bps")
        rows = [{"path": path, **{name: getattr(trace, name) for name in known}} for path, trace in traces]
        print(json.dumps(rows, indent=2))
    elif traces:
        show_list(traces)
    for one in unreadable:
        terminal.say_error(str(one), one.hint)
    return 2 if unreadable else 0


def show_list(traces: list[tuple[str, Trace]]) -> None:
    """The traces as a table."""
    names = {specs.from_here(path): name for path, name in shipped.trace_names().items()}
    rows = []
    for address, trace in traces:
        path, mark, part = address.partition("#")
        name = f"{names[path]}{mark}{part}" if path in names else ""
        rows.append([name, trace.family, f"{trace.duration_s:.0f}", f"{trace.mean_rate_bps / 1e6:.2f}", address])
    terminal.table(["name", "family", "length s", "mean Mbit/s", "path"], rows, right=["length s", "mean Mbit/s"])


def address(path: Path, trace: Trace) -> str:
    """What names a trace on a command line: its file, and the part where the file holds several."""
    _, mark, part = trace.name.partition("#")
    return f"{specs.from_here(path)}{mark}{part}"


@app.command("show")
def show(
    path: Annotated[str, typer.Argument(help="A trace file, or a shipped trace's name.", show_default=False)],
    format_name: options.FormatName = None,
    interval_s: Annotated[
        float | None, typer.Option(help="Time over which rates are averaged. [default: a 600th of the trace]")
    ] = None,
    svg: Annotated[Path | None, typer.Option(help="Write the plot as an SVG picture instead.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write the plot as an HTML page instead.")] = None,
) -> None:
    """Show a trace as plots over time: its capacity; its propagation delay, loss and cross traffic where it has them.

    Examples:

    ```sh
    legato traces show fcc/12
    legato traces show hairpin/3 --svg hairpin.svg
    legato traces show my.csv --html my.html
    ```
    """
    from legato import atomic
    from legato.report import chart, pages

    if interval_s is not None and not interval_s > 0:
        raise TraceError(f"--interval-s {interval_s}: has to be above 0")
    trace = legato.load_trace(path, format_name)
    times_s, curves = curves_of(trace, interval_s or max(trace.duration_s / _POINTS, 0.1))
    title = f"{trace.name} ({trace.family})"
    about = [f"{trace.duration_s:.0f} s, mean {trace.mean_rate_bps / 1e6:.2f} Mbit/s", *remarks(trace)]
    if svg or html:
        axes = [
            chart.Axes(
                [chart.Line("c0", list(zip(times_s, values, strict=True)))], height=110 if n else 220, title=what
            )
            for n, (what, _, values) in enumerate(curves)
        ]
        if svg:
            atomic.write_text(svg, chart.picture(axes, title))
            terminal.out().print(f"picture: {svg}")
        if html:
            drawn = chart.draw(axes, title, width=720, unit=" s")
            pages.write_sections(html, title, about, [pages.Section("", charts=[("", drawn)])], kind="trace")
            terminal.out().print(f"page: {html}")
        return
    console = terminal.out()
    console.print(f"{title}: {about[0]}", markup=False)
    for remark in about[1:]:
        console.print(remark, markup=False)
    columns = max(min(console.width - 12, 110), 20)
    for n, (what, unit, values) in enumerate(curves):
        if n > 0:
            console.print(what, markup=False)
        curve = times_s.tolist(), values.tolist()
        for line in chart.in_terminal(*curve, unit=unit, columns=columns, rows=12 if n == 0 else 5):
            console.print(line, markup=False)


def curves_of(trace: Trace, interval_s: float) -> tuple[Array, list[tuple[str, str, Array]]]:
    """Times in s; and what there is over them, its unit and its values: the capacity first."""
    times_s, rates_bps = trace.rates(interval_s)
    curves = [("Capacity in Mbit/s", "Mbit/s", rates_bps / 1e6)]
    if (delays_ms := trace.propagation_ms(interval_s)) is not None:
        curves.append(("Propagation delay, one way, in ms", "ms", delays_ms))
    if (losses := trace.loss_ratio(interval_s)) is not None:
        curves.append(("Random loss in %", "%", losses * 100))
    if (traffic_bps := trace.cross_traffic_bps(interval_s)) is not None:
        curves.append(("Cross traffic in Mbit/s", "Mbit/s", traffic_bps / 1e6))
    # The last interval of one may be cut off where the others round it up.
    length = min(len(values) for _, _, values in curves)
    return times_s[:length], [(what, unit, values[:length]) for what, unit, values in curves]


def remarks(trace: Trace) -> list[str]:
    """What a reader of the plots has to know."""
    said = []
    if trace.queue_bytes is not None:
        wait_ms = trace.queue_bytes * 8e3 / max(trace.mean_rate_bps, 1)
        said.append(f"Buffer of {trace.queue_bytes} bytes: {wait_ms:.0f} ms at its bottleneck.")
    if trace.format == "hairpin" and trace.minimum and trace.minimum[0] == _HAIRPIN_FLOOR_BPS:
        said.append(
            f"2.50 Mbit/s, the floor of such logs, for {trace.minimum[1]:.0%} of the time: the sender sent less there,"
            " and the capacity of the link was not measured."
        )
    return said


@app.command("import")
def import_trace(
    source: Annotated[str, typer.Argument(help="A trace, in any format Legato reads.", show_default=False)],
    target: Annotated[Path, typer.Argument(help="The file to write: time_s,rate_bps.", show_default=False)],
    format_name: options.FormatName = None,
    force: Annotated[bool, typer.Option("--force", help="Replace TARGET if it is there.")] = False,
) -> None:
    """Read a trace of any known format and write it in Legato's own: CSV with time_s,rate_bps.

    Round-trip times and losses become columns rtt_ms and loss_ratio.

    Example:

    ```sh
    legato traces import B_2018.01.27_13.58.28.csv 5g.csv --format ucc-5g
    ```
    """
    if target.exists() and not force:
        raise TraceError(f"{target}: is there already", hint="give --force to replace it, or another name")
    trace = legato.load_trace(source, format_name)
    trace.save(str(target))
    terminal.out().print(f"trace: {target} ({trace.duration_s:.0f} s, mean {trace.mean_rate_bps / 1e6:.2f} Mbit/s)")
