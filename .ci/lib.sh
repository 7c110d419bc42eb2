# Sourced by the scripts beside it: the scratch folder and the Python with the independent readers in it.
FLOE_CI_DIR=${FLOE_CI_DIR:-${TMPDIR:-/tmp}/floe-ci}
mkdir -p "$FLOE_CI_DIR"

# python_env makes (once) a virtual environment with the pinned packages and sets $PYTHON.
python_env() {
  local want="$FLOE_CI_DIR/venv"
  PYTHON="$want/bin/python"
  if ! cmp -s .ci/requirements.txt "$want/requirements.txt"; then
    rm -rf "$want"
    python3 -m venv "$want"
    "$PYTHON" -m pip install -q -r .ci/requirements.txt
    cp .ci/requirements.txt "$want/requirements.txt"
  fi
}
