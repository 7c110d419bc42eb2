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

# libs NAME gives the folder with the jars of .ci/poms/NAME.xml, got once.
libs() {
  local dir="$FLOE_CI_DIR/$1-libs"
  if ! cmp -s ".ci/poms/$1.xml" "$dir/pom.xml"; then
    rm -rf "$dir"
    mvn -q -B -f ".ci/poms/$1.xml" org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies \
      -DoutputDirectory="$dir" >&2
    cp ".ci/poms/$1.xml" "$dir/pom.xml"
  fi
  echo "$dir"
}

# postgres_server installs Postgres where it is missing.
postgres_server() {
  if [ -z "$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null)" ]; then
    apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q postgresql
  fi
}
