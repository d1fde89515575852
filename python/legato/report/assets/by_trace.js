"use strict";
// A row per trace: each controller's mean there, and the range of its calls. Says where a controller wins or fails.
Legato.byTrace = (() => {
  const { data, hidden, escape, shown, titled, symbol, classOf, svg, wantsLog, axisBottom, grid, tooltip } = Legato;
  const section = document.getElementById("by-trace");
  const figure = document.getElementById("by-trace-figure");
  const select = document.getElementById("by-trace-x");
  const points = data.points;
  const MOST_ROWS = 60;
  let redraw = () => {};

  /** Rows in order of trace: for each controller that ran there, its calls' figures. */
  function rowsOf(column) {
    const present = d3.range(points.variant.length).filter((m) => points.figures[column][m] !== null);
    return d3.groups(present, (m) => points.trace[m]).sort((a, b) => a[0] - b[0]).slice(0, MOST_ROWS).map(([trace, members]) => ({
      trace: points.traces[trace],
      controllers: d3.groups(members, (m) => points.variant[m]).sort((a, b) => a[0] - b[0])
        .map(([at, calls]) => ({ at, calls, values: calls.map((m) => points.figures[column][m]) })),
    }));
  }

  /** The end of a name says more than its middle: `family/…/name_17`. */
  function fit(text, name, most) {
    text.text(name);
    for (let kept = name.length - 1; kept > 6 && text.node().getComputedTextLength() > most; kept -= 1) {
      const head = Math.ceil(kept * 0.4);
      text.text(`${name.slice(0, head)}…${name.slice(name.length - (kept - head))}`);
    }
  }

  function draw(width) {
    figure.replaceChildren();
    const column = select.value;
    const rows = rowsOf(column);
    const visible = d3.range(data.controllers.length).filter((at) => !hidden.has(at));
    // Few controllers stand below one another in a row, many on one line.
    const apart = visible.length <= 6 ? 9 : 0;
    const high = Math.max(22, visible.length * apart + 9);
    const margin = { top: 8, right: 14, bottom: 44, left: 0 };
    const height = margin.top + rows.length * high + margin.bottom;
    const root = svg(figure, width, height, `${titled(column)} by trace`);
    const most = Math.min(260, width * 0.3);
    const names = rows.map((row) => { const text = root.append("text").attr("class", "row").attr("dy", ".35em"); fit(text, row.trace, most); return text; });
    margin.left = Math.ceil(d3.max(names, (text) => text.node().getComputedTextLength()) ?? 0) + 12;
    const values = rows.flatMap((row) => row.controllers.filter(({ at }) => !hidden.has(at)).flatMap((c) => c.values));
    if (values.length === 0) { figure.textContent = "No call has this figure."; return; }
    const log = wantsLog(column, values);
    let [low, high_] = d3.extent(values);
    if (low === high_) [low, high_] = [low - Math.abs(low) * 0.05, high_ + (Math.abs(high_) * 0.05 || 1)];
    const x = (log ? d3.scaleLog() : d3.scaleLinear()).domain([low, high_]).range([margin.left, width - margin.right]);
    // The outermost marks stay off the edges.
    x.domain([x.invert(margin.left - 10), x.invert(width - margin.right + 10)]);
    const ticks = axisBottom(root, x, height - margin.bottom, Math.max(4, Math.floor(width / 110)), titled(column) + (log ? " (logarithmic)" : ""));
    const y = d3.scaleLinear().domain([0, rows.length]).range([margin.top, height - margin.bottom]);
    grid(root, { xs: ticks, ys: d3.range(rows.length), x, y });
    rows.forEach((row, index) => {
      const middle = y(index + 0.5);
      names[index].attr("y", middle);
      for (const { at, calls, values: found } of row.controllers) {
        const place = visible.indexOf(at);
        if (place < 0) continue;
        const level = middle + (place - (visible.length - 1) / 2) * apart;
        const mean = d3.mean(found), [from, to] = d3.extent(found);
        const mark = root.append("g").attr("class", `mark ${classOf(at)}`).attr("data-controller", at).style("cursor", "pointer")
          .on("pointermove", (event) => tooltip.show(event, `<b>${escape(data.controllers[at].name)}</b> on ${escape(row.trace)}<br>${escape(data.metrics[column].label)} ${escape(shown(column, mean))}` +
            (found.length > 1 ? `<br>${found.length} calls, ${escape(shown(column, from))} to ${escape(shown(column, to))}` : "")))
          .on("pointerleave", tooltip.hide)
          .on("click", () => { tooltip.hide(); const m = calls.find((call) => Legato.calls.has(points.run[call], points.call[call])); if (m !== undefined) Legato.calls.open(points.run[m], points.call[m]); });
        if (to > from && apart > 0) mark.append("line").attr("x1", x(from)).attr("x2", x(to)).attr("y1", level).attr("y2", level).attr("stroke", "currentColor").attr("stroke-width", 2).attr("stroke-opacity", 0.35).attr("stroke-linecap", "round");
        mark.append("path").attr("transform", `translate(${x(mean)},${level})`).attr("d", symbol(data.controllers[at], 46)).attr("fill", "currentColor");
      }
    });
    const all = new Set(points.trace).size;
    document.getElementById("by-trace-caption").textContent = `The mean of each controller’s calls on a trace${apart > 0 ? "; the bar is their range" : ""}.` +
      (all > rows.length ? ` The first ${rows.length} of ${all.toLocaleString("en")} traces.` : "") + (points.sampled ? " From the same sample as above." : "");
  }

  function start() {
    if (points.traces.length < 2) { section.hidden = true; return; }
    for (const column of data.trade_off) select.add(new Option(titled(column), column));
    select.value = ["viewed_ssim_db_mean", "ssim_db_mean"].find((column) => data.trade_off.includes(column)) ?? data.trade_off[0];
    select.addEventListener("change", () => redraw());
    redraw = Legato.responsive(figure, draw);
  }
  return { start, redraw: () => redraw() };
})();
