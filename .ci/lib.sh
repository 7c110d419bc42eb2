# Sourced by the scripts beside it: the scratch folder and the Python with the independent readers in it.
export FLOE_CI_DIR=${FLOE_CI_DIR:-${TMPDIR:-/tmp}/floe-ci}
mkdir -p "$FLOE_CI_DIR"

# python_env makes (once) a virtual environment with the pinned packages and sets $PYTHON.
python_env() { PYTHON=$(go run ./test/services get python); }
