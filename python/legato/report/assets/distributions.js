"use strict";
// For each figure, the share of a controller's calls at or below a value.
Legato.distributions = (() => {
  const { data, hidden, escape, shown, titled, classOf, svg, wantsLog, axisBottom, axisLeft, grid } = Legato;
  const parent = document.getElementById("distributions-figure");
  const panels = [];

  /** [value, share] pairs, ascending, one list a controller; drawn from quantiles where calls were sampled. */
  function curves(column) {
    return data.controllers.map((_, at) => {
      if (data.quantiles) {
        const values = data.quantiles[column][at] ?? [];
        return values.map((value, step) => [value, step / (values.length - 1)]);
      }
      const values = data.points.figures[column].filter((value, m) => value !== null && data.points.variant[m] === at).sort(d3.ascending);
      return values.map((value, rank) => [value, (rank + 1) / values.length]);
    });
  }

  function panel(column) {
    const all = curves(column);
    const figure = document.createElement("figure");
    figure.dataset.column = column;
    const head = document.createElement("figcaption");
    head.innerHTML = `${escape(data.metrics[column].label)} <small></small>`;
    const body = document.createElement("div");
    figure.append(head, body);
    parent.append(figure);
    const readout = head.querySelector("small");

    function draw(width) {
      body.replaceChildren();
      const printed = Legato.isPrinting();
      if (printed) width = Math.floor(width / 3) - 10;
      const height = printed ? 170 : 216, margin = { top: 8, right: 10, bottom: 42, left: 42 };
      const root = svg(body, width, height, `Distribution of ${titled(column)}`);
      const values = all.flat().map((p) => p[0]);
      if (values.length === 0) { root.append("text").attr("x", margin.left).attr("y", 40).text("No call has this figure."); return; }
      const log = wantsLog(column, values);
      let [low, high] = d3.extent(values);
      if (low === high) { const pad = Math.abs(low) * 0.05; [low, high] = [low - pad, high + (pad || 1)]; }
      const x = (log ? d3.scaleLog() : d3.scaleLinear()).domain([low, high]).range([margin.left, width - margin.right]);
      if (!log) x.nice(5);
      const y = d3.scaleLinear().domain([0, 1]).range([height - margin.bottom, margin.top]);
      const xTicks = axisBottom(root, x, height - margin.bottom, log ? Math.floor((width - 52) / 36) : 5, (data.metrics[column].unit || titled(column)) + (log ? ", logarithmic" : ""));
      const yTicks = axisLeft(root, y, margin.left, 4, (share) => `${share * 100} %`);
      grid(root, { xs: xTicks, ys: yTicks, x, y });
      const line = d3.line((p) => x(p[0]), (p) => y(p[1]));
      if (!data.quantiles) line.curve(d3.curveStepAfter);
      all.forEach((curve, at) => {
        if (hidden.has(at) || curve.length === 0) return;
        // From the bottom at the first value to the right edge at the top: a distribution begins at 0 and stays at 1.
        const path = data.quantiles ? curve : [[curve[0][0], 0], ...curve];
        root.append("path").attr("class", `curve ${classOf(at)}`).attr("data-controller", at).attr("d", line([...path, [x.domain()[1], 1]])).attr("fill", "none")
          .attr("stroke", "currentColor").attr("stroke-width", data.controllers.length > 10 ? 1.2 : 2).attr("stroke-dasharray", dash(at));
      });
      const cross = root.append("line").attr("class", "cross").attr("y1", y.range()[1]).attr("y2", y.range()[0]).attr("visibility", "hidden");
      root.on("pointermove", (event) => {
        const at = Math.max(x.range()[0], Math.min(x.range()[1], d3.pointer(event)[0]));
        cross.attr("visibility", null).attr("x1", at).attr("x2", at);
        tell(x.invert(at));
      }).on("pointerleave", () => { cross.attr("visibility", "hidden"); readout.textContent = ""; Legato.tooltip.hide(); });
      function tell(value) {
        const rank = d3.bisector((p) => p[0]).right;
        const shares = all.map((curve, at) => [at, curve.length ? (rank(curve, value) ? curve[rank(curve, value) - 1][1] : 0) : null])
          .filter(([at, share]) => share !== null && !hidden.has(at)).sort((a, b) => b[1] - a[1]).slice(0, 6);
        readout.innerHTML = `≤ ${escape(shown(column, value))}: ` + shares.map(([at, share]) => `<span class="${classOf(at)}">${escape(data.controllers[at].name)} ${Math.round(share * 100)} %</span>`).join(" · ");
      }
    }
    panels.push(Legato.responsive(parent, () => draw(Legato.isPrinting() ? 700 : Math.floor(figure.getBoundingClientRect().width))));
  }

  /** Colours that come back (beyond eight controllers) come back dashed. */
  function dash(at) {
    const before = data.controllers.slice(0, at).filter((c) => c.colour === data.controllers[at].colour).length;
    return [null, "6 3", "2 2", "8 3 2 3", "1 3"][before % 5];
  }

  return {
    start() { data.distributions.forEach(panel); },
    redraw() { for (const redraw of panels) redraw(); },
  };
})();
