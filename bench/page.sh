#!/bin/bash
# page.sh REPORT.json DIR: what a verification's page looks like, light and dark, wide and narrow: pictures in DIR, for who changes it.
# Needs Debian's chromium. CI does not: that is 400 MB of packages for pictures that nobody looks at there.
set -euo pipefail
[ $# -eq 2 ] || { echo "page.sh REPORT.json DIR" >&2; exit 2; }
mkdir -p "$2"
dir=$(realpath "$2")
muster verify page "$1" >"$dir/page.html"
# Chromium numbers its schemes: 0 is dark, 1 is light. A window is no narrower than 500.
for scheme in 0-dark 1-light; do
  for size in 1280,5000-wide 500,9000-narrow; do
    chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --blink-settings="preferredColorScheme=${scheme%%-*}" \
      --window-size="${size%%-*}" --screenshot="$dir/${scheme#*-}-${size#*-}.png" "file://$dir/page.html" 2>/dev/null
  done
done
