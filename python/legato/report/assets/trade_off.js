"use strict";
// One point per call, and for each controller the mean and the ellipse of one standard deviation.
Legato.tradeOff = (() => {
  const { data, hidden, escape, shown, titled, symbol, classOf, svg, wantsLog, axisBottom, axisLeft, grid, tooltip } = Legato;
  const figure = document.getElementById("trade-off-figure");
  const selects = { x: document.getElementById("trade-off-x"), y: document.getElementById("trade-off-y") };
  const points = data.points;
  let redraw = () => {};

  for (const select of Object.values(selects)) {
    for (const column of data.trade_off) select.add(new Option(titled(column), column));
    select.addEventListener("change", () => redraw());
  }
  const first = (...columns) => columns.find((column) => data.trade_off.includes(column)) ?? data.trade_off[0];
  selects.x.value = first("viewed_delay_p95_ms", "frame_delay_p98_ms");
  selects.y.value = first("viewed_ssim_db_mean", "ssim_db_mean");

  /** Mean and principal axes of points in the space they are drawn in; null axes below three points. */
  function moments(xy) {
    const n = xy.length;
    const mean = [d3.mean(xy, (p) => p[0]), d3.mean(xy, (p) => p[1])];
    if (n < 3) return { mean, ring: null };
    let xx = 0, yy = 0, both = 0;
    for (const [x, y] of xy) {
      xx += (x - mean[0]) ** 2 / (n - 1);
      yy += (y - mean[1]) ** 2 / (n - 1);
      both += ((x - mean[0]) * (y - mean[1])) / (n - 1);
    }
    // Eigenvalues of the 2 × 2 covariance matrix.
    const middle = (xx + yy) / 2, spread = Math.hypot((xx - yy) / 2, both);
    const [long, short] = [Math.sqrt(Math.max(middle + spread, 0)), Math.sqrt(Math.max(middle - spread, 0))];
    const turn = 0.5 * Math.atan2(2 * both, xx - yy);
    const ring = d3.range(0, 73).map((step) => {
      const angle = (step / 72) * 2 * Math.PI;
      const [a, b] = [long * Math.cos(angle), short * Math.sin(angle)];
      return [mean[0] + a * Math.cos(turn) - b * Math.sin(turn), mean[1] + a * Math.sin(turn) + b * Math.cos(turn)];
    });
    return { mean, ring };
  }

  const visibleCount = (groups) => groups.filter((group) => !hidden.has(group.at)).length;

  function caption(x, y, drawn, log) {
    const metrics = data.metrics;
    const sampled = points.sampled ? ` A sample of ${points.variant.length.toLocaleString("en")} of ${points.total.toLocaleString("en")} calls.` : "";
    const absent = points.variant.length - drawn;
    document.getElementById("trade-off-caption").textContent =
      `One point per call; the ellipse is one standard deviation of a controller’s calls about their mean${log ? " (on the logarithmic axis, the geometric mean)" : ""}.${sampled}` +
      (absent > 0 ? ` ${absent.toLocaleString("en")} call${absent === 1 ? " has" : "s have"} no ${metrics[x].label} or ${metrics[y].label} and ${absent === 1 ? "is" : "are"} not drawn.` : "");
  }

  function better(x, y) {
    const horizontal = { lower: "←", higher: "→", neither: "" }[data.metrics[x].better];
    const vertical = { lower: "↓", higher: "↑", neither: "" }[data.metrics[y].better];
    const arrows = { "←↑": "↖", "→↑": "↗", "←↓": "↙", "→↓": "↘" };
    return arrows[horizontal + vertical] ?? horizontal + vertical;
  }

  function draw(width) {
    const [xColumn, yColumn] = [selects.x.value, selects.y.value];
    const [xs, ys] = [points.figures[xColumn], points.figures[yColumn]];
    const rows = d3.range(points.variant.length).filter((at) => xs[at] !== null && ys[at] !== null);
    const log = { x: wantsLog(xColumn, rows.map((at) => xs[at])), y: wantsLog(yColumn, rows.map((at) => ys[at])) };
    caption(xColumn, yColumn, rows.length, log.x || log.y);
    figure.replaceChildren();
    const height = Legato.isPrinting() ? 265 : Math.round(Math.max(320, Math.min(480, width * 0.46)));
    const margin = { top: 30, right: 14, bottom: 44, left: 46 };
    const root = svg(figure, width, height, `${titled(yColumn)} against ${titled(xColumn)}`);
    if (rows.length === 0) { root.append("text").attr("x", margin.left).attr("y", 60).text("No call has both figures."); return; }
    const into = { x: log.x ? Math.log10 : (v) => v, y: log.y ? Math.log10 : (v) => v };
    const back = { x: log.x ? (v) => 10 ** v : (v) => v, y: log.y ? (v) => 10 ** v : (v) => v };
    const byController = d3.group(rows, (at) => points.variant[at]);
    const groups = [...byController].map(([at, members]) => ({ at, members, ...moments(members.map((m) => [into.x(xs[m]), into.y(ys[m])])) }));
    groups.sort((a, b) => a.at - b.at);

    const reach = (axis, values) => {
      const rings = groups.flatMap((g) => (g.ring ?? []).map((p) => p[axis]));
      const [low, high] = d3.extent([...values, ...rings]);
      const pad = (high - low || Math.abs(high) || 1) * 0.05;
      return [low - pad, high + pad];
    };
    const domains = { x: reach(0, rows.map((at) => into.x(xs[at]))), y: reach(1, rows.map((at) => into.y(ys[at]))) };
    const scale = (axis, range) => (log[axis] ? d3.scaleLog() : d3.scaleLinear()).domain(domains[axis].map(back[axis])).range(range);
    const x = scale("x", [margin.left, width - margin.right]);
    const y = scale("y", [height - margin.bottom, margin.top]);
    const xTicks = axisBottom(root, x, height - margin.bottom, Math.max(4, Math.floor(width / 90)), titled(xColumn) + (log.x ? " (logarithmic)" : "") + " →");
    const yTicks = axisLeft(root, y, margin.left, 7);
    grid(root, { xs: xTicks, ys: yTicks, x, y });
    root.append("text").attr("class", "title").attr("x", 0).attr("y", 14).text(`↑ ${titled(yColumn)}${log.y ? " (logarithmic)" : ""}`);
    const corner = better(xColumn, yColumn);
    if (corner) root.append("text").attr("class", "note").attr("x", width - margin.right).attr("y", 14).attr("text-anchor", "end").text(`${corner} better`);

    const many = rows.length > 600, crowded = visibleCount(groups) > 10;
    const line = d3.line((p) => x(back.x(p[0])), (p) => y(back.y(p[1])));
    const visible = groups.filter((g) => !hidden.has(g.at));
    for (const group of visible) {
      const layer = root.append("g").attr("class", `controller ${classOf(group.at)}`).attr("data-controller", group.at);
      if (group.ring) layer.append("path").attr("class", "ellipse").attr("d", line(group.ring)).attr("fill", "currentColor").attr("fill-opacity", crowded ? 0.02 : 0.1)
        .attr("stroke", "currentColor").attr("stroke-width", 1.25).attr("stroke-opacity", crowded ? 0.15 : 1);
      layer.selectAll("path.point").data(group.members).join("path").attr("class", "point").attr("transform", (m) => `translate(${x(xs[m])},${y(ys[m])})`)
        .attr("d", symbol(data.controllers[group.at], many ? 14 : 34)).attr("fill", "currentColor").attr("fill-opacity", crowded ? 0.3 : many ? 0.4 : 0.65).style("cursor", "pointer")
        .on("pointermove", (event, m) => tooltip.show(event, describe(m, xColumn, yColumn))).on("pointerleave", tooltip.hide)
        .on("click", (event, m) => { tooltip.hide(); Legato.calls.open(points.run[m], points.call[m]); });
    }
    // Names keep off one another and off the means.
    const taken = visible.map((g) => [x(back.x(g.mean[0])), y(back.y(g.mean[1]))]).map(([px, py]) => [px - 6, py - 6, px + 6, py + 6]);
    const many_names = visible.length > 14;
    for (const group of visible) {
      const [px, py] = [x(back.x(group.mean[0])), y(back.y(group.mean[1]))];
      const layer = root.append("g").attr("class", `mean ${classOf(group.at)}`).attr("data-controller", group.at).style("cursor", "default")
        .on("pointerenter", () => Legato.highlight(group.at))
        .on("pointermove", (event) => tooltip.show(event, `<b>${escape(data.controllers[group.at].name)}</b>, mean of ${group.members.length} calls<br>${escape(shown(xColumn, back.x(group.mean[0])))} · ${escape(shown(yColumn, back.y(group.mean[1])))}`))
        .on("pointerleave", () => { tooltip.hide(); Legato.highlight(null); });
      layer.append("path").attr("transform", `translate(${px},${py})`).attr("d", symbol(data.controllers[group.at], many_names ? 60 : 130)).attr("fill", "currentColor").attr("stroke", "var(--paper)").attr("stroke-width", 2);
      place(layer, data.controllers[group.at].name, px, py, taken, [margin.left, width - margin.right, margin.top, height - margin.bottom], many_names);
    }
  }

  /** Puts a name beside its mean where no other name is; gives up silently among many (the tooltip has it). */
  function place(layer, name, px, py, taken, [left, right, top, bottom], optional) {
    const text = layer.append("text").attr("class", "name").text(name);
    const wide = text.node().getComputedTextLength();
    const spots = [[12, 4], [-12 - wide, 4], [-wide / 2, -14], [-wide / 2, 24], [12, -10], [12, 18], [-12 - wide, -10], [-12 - wide, 18], [12, 34], [12, -26]];
    const fits = spots.map(([dx, dy]) => [px + dx, py + dy - 11, px + dx + wide, py + dy + 4]).find((b) =>
      b[0] >= left && b[2] <= right && b[1] >= top && b[3] <= bottom && taken.every((t) => b[2] < t[0] || b[0] > t[2] || b[3] < t[1] || b[1] > t[3]));
    if (!fits && optional) { text.remove(); return; }
    const spot = fits ?? [px + 12, py - 7, px + 12 + wide, py + 8];
    taken.push(spot);
    text.attr("x", spot[0]).attr("y", spot[1] + 11);
  }

  function describe(m, xColumn, yColumn) {
    const has = Legato.calls.has(points.run[m], points.call[m]) ? "<br><i>click for its time line</i>" : "";
    return `<b>${escape(data.controllers[points.variant[m]].name)}</b> · call ${points.call[m]}<br>${escape(points.traces[points.trace[m]])} · ${escape(points.clips[points.clip[m]])} · seed ${points.seed[m]}` +
      `<br>${escape(data.metrics[yColumn].label)} ${escape(shown(yColumn, points.figures[yColumn][m]))}<br>${escape(data.metrics[xColumn].label)} ${escape(shown(xColumn, points.figures[xColumn][m]))}${has}`;
  }

  return { start() { redraw = Legato.responsive(figure, draw); }, redraw: () => redraw() };
})();
