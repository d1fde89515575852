"use strict";
// Starts the figures; the colour scheme; which controllers are shown.
(() => {
  const { data, hidden } = Legato;
  const root = document.documentElement, button = document.getElementById("scheme");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let scheme = "auto";
  const apply = () => {
    root.dataset.scheme = scheme === "auto" ? (dark.matches ? "dark" : "light") : scheme;
    button.querySelector("span").textContent = scheme;
  };
  dark.addEventListener("change", apply);
  button.addEventListener("click", () => {
    scheme = { auto: "dark", dark: "light", light: "auto" }[scheme];
    apply();
  });
  apply();

  const all = d3.range(data.controllers.length);
  function legends() {
    for (const id of ["legend", "legend-print"])
      Legato.legend(document.getElementById(id), id === "legend" ? all : all.filter((at) => !hidden.has(at)), (at) => !hidden.has(at), (at) => {
        if (hidden.has(at)) hidden.delete(at); else hidden.add(at);
        if (hidden.size === all.length) hidden.clear();
        legends();
        Legato.tradeOff.redraw();
        Legato.distributions.redraw();
        Legato.byTrace.redraw();
      });
  }
  for (const details of document.querySelectorAll("#appendix details")) details.addEventListener("toggle", () => { if (!Legato.isPrinting()) details.dataset.open = details.open ? "1" : ""; });
  legends();
  Legato.tradeOff.start();
  Legato.distributions.start();
  Legato.byTrace.start();
  Legato.table.start();
  Legato.sharing.start();
  Legato.calls.start();
  Legato.gauges.start();
})();
