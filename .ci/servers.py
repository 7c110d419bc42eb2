"""The real services that the checks need, each started here and ended here by its process id.

Kafka (KRaft, one broker), Iceberg's own REST catalog over an S3 server, Postgres as SQL catalog. Each function waits until its
service is ready and gives its address; stop_all ends what was started, also after SIGTERM where the caller has called
tidy_on_signals.
"""

import ctypes
import os
import pwd
import signal
import socket
import subprocess
import sys
import time

started = []


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def end_with_parent():
    """Lets the kernel end a service with SIGTERM where this program is itself killed (Linux only)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)


def start(name, argv, log, env=None, user=None, cwd=None):
    with open(log, "wb") as out:
        p = subprocess.Popen(argv, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                             env={**os.environ, **(env or {})}, user=user, cwd=cwd, preexec_fn=end_with_parent)
    started.append((name, p))
    return p


def stop_all():
    for name, p in reversed(started):
        if p.poll() is None:
            p.terminate()
    for name, p in reversed(started):
        try:
            p.wait(20)
        except subprocess.TimeoutExpired:
            p.kill()
            p.wait()


def until(what, ready, proc=None, log=None, seconds=120):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if ready():
                return
        except Exception:
            pass
        if proc is not None and proc.poll() is not None:
            break
        time.sleep(0.2)
    if log:
        sys.stderr.write(open(log, errors="replace").read()[-4000:])
    raise SystemExit(f"{what} did not become ready")


def accepts(port):
    with socket.create_connection(("127.0.0.1", port), 1):
        return True


def kafka(libs, log4j, d):
    client, ctl = free_port(), free_port()
    os.makedirs(f"{d}/kafka")
    conf = f"{d}/kafka/server.properties"
    with open(conf, "w") as f:
        f.write(f"""process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{ctl}
listeners=PLAINTEXT://127.0.0.1:{client},CONTROLLER://127.0.0.1:{ctl}
advertised.listeners=PLAINTEXT://127.0.0.1:{client}
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={d}/kafka/data
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=500
""")
    java = ["java", "-Xmx512m", "-XX:TieredStopAtLevel=1", "-cp", f"{libs}/*"]
    subprocess.run([*java, "kafka.tools.StorageTool", "format", "-t", "MkU3OEVBNTcwNTJENDM2Qk", "-c", conf], check=True,
                   stdout=subprocess.DEVNULL)
    log = f"{d}/kafka.log"
    p = start("kafka", [*java[:3], f"-Dlog4j2.configurationFile={os.path.abspath(log4j)}", *java[3:], "kafka.Kafka", conf], log)
    until("Kafka", lambda: "Kafka Server started" in open(log, errors="replace").read(), p, log)
    return f"127.0.0.1:{client}"


def s3(d):
    port = free_port()
    log = f"{d}/s3.log"
    p = start("s3", [os.path.join(os.path.dirname(sys.executable), "moto_server"), "-H", "127.0.0.1", "-p", str(port)], log)
    until("the S3 server", lambda: accepts(port), p, log)
    import boto3
    url = f"http://127.0.0.1:{port}"
    client = boto3.client("s3", endpoint_url=url, aws_access_key_id="test", aws_secret_access_key="test",
                          region_name="us-east-1")
    for bucket in ("lake", "floe"):
        client.create_bucket(Bucket=bucket)
    return url


def s3_keys(url):
    """The keys of a catalog whose tables lie there."""
    return {"s3.endpoint": url, "s3.access-key-id": "test", "s3.secret-access-key": "test", "s3.region": "us-east-1"}


def rest(libs, d, s3url):
    port = free_port()
    log = f"{d}/rest.log"
    p = start("rest", ["java", "-Xmx512m", "-cp", f"{libs}/*", "org.apache.iceberg.rest.RESTCatalogServer"], log, env={
        "CATALOG_REST_PORT": str(port), "CATALOG_CATALOG__IMPL": "org.apache.iceberg.jdbc.JdbcCatalog",
        "CATALOG_URI": f"jdbc:sqlite:{d}/rest.db", "CATALOG_WAREHOUSE": "s3://lake/wh", "CATALOG_JDBC_USER": "u",
        "CATALOG_JDBC_PASSWORD": "p", "CATALOG_JDBC_SCHEMA__VERSION": "V1",
        "CATALOG_IO__IMPL": "org.apache.iceberg.aws.s3.S3FileIO", "CATALOG_S3_ENDPOINT": s3url,
        "CATALOG_S3_PATH__STYLE__ACCESS": "true", "CATALOG_S3_ACCESS__KEY__ID": "test",
        "CATALOG_S3_SECRET__ACCESS__KEY": "test", "CATALOG_CLIENT_REGION": "us-east-1"})
    until("the REST catalog", lambda: accepts(port), p, log)
    return f"http://127.0.0.1:{port}"


def postgres(d):
    bindir = sorted(os.path.join("/usr/lib/postgresql", v, "bin") for v in os.listdir("/usr/lib/postgresql"))[-1]
    user = "postgres" if os.getuid() == 0 else None
    data = f"{d}/pg"
    os.makedirs(data)
    os.chmod(d, 0o755)
    if user:
        u = pwd.getpwnam(user)
        os.chown(data, u.pw_uid, u.pw_gid)
    pw = f"{d}/pgpass"
    with open(pw, "w") as f:
        f.write("s3cret/word")
    os.chmod(pw, 0o644)
    subprocess.run([f"{bindir}/initdb", "-D", data, "-U", "floe", "-A", "scram-sha-256", f"--pwfile={pw}"], check=True,
                   user=user, stdout=subprocess.DEVNULL, cwd=data)
    port = free_port()
    log = f"{d}/pg.log"
    p = start("postgres", [f"{bindir}/postgres", "-D", data, "-p", str(port), "-h", "127.0.0.1", "-k", data], log,
              user=user, cwd=data)
    until("Postgres", lambda: accepts(port), p, log)
    return port


def postgres_uri(port, scheme="postgres", options="?sslmode=disable"):
    return f"{scheme}://floe:s3cret%2Fword@127.0.0.1:{port}/postgres{options}"


def tidy_on_signals():
    """SIGTERM ends the program by an exception, so that its finally blocks run."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
