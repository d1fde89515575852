#!/bin/sh
# Sees to a headless Chromium for the tests of the report: finds one, or installs one where it may,
# or says in one line that those tests will be skipped. With LEGATO_NEED_BROWSER=1 it fails instead.
set -u

has_browser() {
  command -v chromium > /dev/null || command -v chromium-browser > /dev/null || command -v google-chrome > /dev/null
}

if [ -n "${LEGATO_CHROMIUM:-}" ] || has_browser; then exit 0; fi
if [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null; then
  echo "installing Chromium for the tests of the report"
  { apt-get -qq update && apt-get -qq install --yes --no-install-recommends chromium; } > /dev/null 2>&1
  has_browser && exit 0
fi
if [ "${LEGATO_NEED_BROWSER:-0}" = 1 ]; then
  echo "error: no Chromium here, and it could not be installed: the tests of the report need one" >&2
  exit 1
fi
echo "note: no Chromium here: the tests that open the report in a browser are skipped (apt-get install chromium)"
