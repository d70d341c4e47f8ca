#!/bin/sh
# Sets up a checkout: the libraries that PDFs need (on Debian and Ubuntu), and .venv with the package and its test tools.
# Safe to run again.
set -eu
cd "$(dirname "$0")"

python=${PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "setup: Python 3.11 or later is needed, found $("$python" --version); name another by PYTHON=…" >&2
    exit 2
}

has_library() {
    "$python" -c 'import ctypes.util, sys; sys.exit(ctypes.util.find_library(sys.argv[1]) is None)' "$1"
}

missing=""
has_library pango-1.0 || missing="$missing libpango-1.0-0"
has_library pangoft2-1.0 || missing="$missing libpangoft2-1.0-0"
has_library harfbuzz-subset || missing="$missing libharfbuzz-subset0"
"$python" -c 'import ensurepip' 2>/dev/null || missing="$missing python3-venv"

if [ -n "$missing" ]; then
    as_root=""
    [ "$(id -u)" = 0 ] || as_root=sudo
    if command -v apt-get >/dev/null && { [ -z "$as_root" ] || command -v sudo >/dev/null; }; then
        $as_root apt-get update -qq
        # shellcheck disable=SC2086  # a list of packages
        $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
    else
        echo "setup: without$missing no PDF can be written (HTML and JSON can); macOS: brew install pango" >&2
    fi
fi

[ -x .venv/bin/python ] || "$python" -m venv .venv
.venv/bin/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
