"""floe against real services, each process started here and ended here by its id.

Kafka (KRaft, one broker), Iceberg's own REST catalog over an S3 server, Postgres as SQL catalog. Records are produced with
transactions, some of them aborted; floe is killed with SIGKILL while it works and started again; then every row of the
table, read by PyIceberg, is compared with what was produced.
"""

import argparse
import collections
import json
import os
import pwd
import signal
import socket
import subprocess
import sys
import time

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

started = []


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def start(name, argv, log, env=None, user=None, cwd=None):
    out = open(log, "wb")
    p = subprocess.Popen(argv, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                         env={**os.environ, **(env or {})}, user=user, cwd=cwd)
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
    open(pw, "w").write("s3cret/word")
    os.chmod(pw, 0o644)
    subprocess.run([f"{bindir}/initdb", "-D", data, "-U", "floe", "-A", "scram-sha-256", f"--pwfile={pw}"], check=True,
                   user=user, stdout=subprocess.DEVNULL, cwd=data)
    port = free_port()
    log = f"{d}/pg.log"
    p = start("postgres", [f"{bindir}/postgres", "-D", data, "-p", str(port), "-h", "127.0.0.1", "-k", data], log,
              user=user, cwd=data)
    until("Postgres", lambda: accepts(port), p, log)
    return port


REGIONS = ["eu", "us", "ap", "O'Brien/ü %"]


def row(part, i):
    """The record i of a partition: everything in it follows from the two numbers."""
    return {"id": part * 1_000_000 + i, "region": REGIONS[(part + i) % 4], "amount": f"{i % 1000}.{i % 100:02d}",
            "event_time": f"2026-0{1 + i % 3}-15T0{i % 10}:00:00.{i % 1000:03d}Z", "note": None if i % 7 == 0 else "x" * (i % 40)}


def produce(broker, topic, partitions, n, first=0):
    """n committed records a partition, in transactions of 1,000, with an aborted one between each two."""
    admin = AdminClient({"bootstrap.servers": broker})
    if first == 0:
        for f in admin.create_topics([NewTopic(topic, partitions, 1)]).values():
            f.result()
    p = Producer({"bootstrap.servers": broker, "transactional.id": f"tx-{topic}", "compression.type": "lz4"})
    p.init_transactions()
    for lo in range(first, first + n, 1000):
        p.begin_transaction()
        for part in range(partitions):
            for i in range(lo, min(lo + 1000, first + n)):
                p.produce(topic, json.dumps(row(part, i)).encode(), partition=part)
        p.commit_transaction()
        p.begin_transaction()
        for part in range(partitions):
            for i in range(50):
                p.produce(topic, b'{"id": -1, "region": "aborted"}', partition=part)
        p.flush()
        p.abort_transaction()


def config(path, name, broker, topic, catalog):
    cfg = {
        "name": name,
        "source": {"kafka": {"brokers": [broker], "topics": [topic], "session_timeout": "6s"}},
        "catalog": catalog,
        "table": {"name": f"db.{topic}", "create": {
            "schema": [{"name": "id", "type": "long", "required": True}, {"name": "region", "type": "string"},
                       {"name": "amount", "type": "decimal(9,2)"}, {"name": "event_time", "type": "timestamptz"},
                       {"name": "note", "type": "string"}],
            "partition_by": ["region", "month(event_time)"]}},
        "writer": {"tasks": 2, "seal": {"records": 400, "interval": "1s"}},
        "committer": {"interval": "100ms"},
        "http": {"listen": "off"},
    }
    with open(path, "w") as f:
        json.dump(cfg, f)  # JSON is YAML
    return path


def run(floe, cfg, log, timeout=240):
    with open(log, "ab") as out:
        return subprocess.run([floe, "run", "--until-caught-up", cfg], stdout=out, stderr=out, timeout=timeout).returncode


def kill_while_running(floe, cfg, log, seconds):
    with open(log, "ab") as out:
        p = subprocess.Popen([floe, "run", cfg], stdout=out, stderr=out)
    started.append(("floe", p))
    time.sleep(seconds)
    alive = p.poll() is None
    p.send_signal(signal.SIGKILL)
    p.wait()
    if not alive:
        sys.stderr.write(open(log, errors="replace").read()[-4000:])
        raise SystemExit("floe ended before it was killed")


def check(name, table, partitions, n):
    """Every row of the table, against what was produced."""
    got = table.scan().to_arrow().to_pylist()
    want = {}
    for part in range(partitions):
        for i in range(n):
            r = row(part, i)
            want[r["id"]] = r
    seen = collections.Counter(r["id"] for r in got)
    lost = [i for i in want if i not in seen]
    doubled = [i for i, c in seen.items() if c > 1]
    foreign = [i for i in seen if i not in want]
    altered = 0
    for r in got:
        w = want.get(r["id"])
        if w is None:
            continue
        t = r["event_time"].strftime("%Y-%m-%dT%H:%M:%S.") + f"{r['event_time'].microsecond // 1000:03d}Z"
        if (r["region"], str(r["amount"]), t, r["note"]) != (w["region"], w["amount"], w["event_time"], w["note"]):
            altered += 1
    print(f"{name}: {len(got)} rows, {len(lost)} lost, {len(doubled)} doubled, {len(foreign)} foreign, {altered} altered, "
          f"{len(table.snapshots())} snapshots", flush=True)
    if lost or doubled or foreign or altered or len(got) != partitions * n:
        raise SystemExit(f"{name}: the table is wrong")
    for region in REGIONS:
        count = table.scan(row_filter=f"region == '{region}'" if "'" not in region else
                           __import__("pyiceberg.expressions", fromlist=["EqualTo"]).EqualTo("region", region)).count()
        expect = sum(1 for r in want.values() if r["region"] == region)
        if count != expect:
            raise SystemExit(f"{name}: filter on region {region!r} finds {count} rows, not {expect}")


def go_test(package, run, **env):
    """The tests of a package that are skipped where no real service is named."""
    r = subprocess.run(["go", "test", "-count=1", "-tags", "cloud", "-run", run, package], env={**os.environ, **env},
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=400)
    print(r.stdout.strip(), flush=True)
    if r.returncode != 0:
        raise SystemExit(f"{package}: the tests on a real service failed")


def scenario(floe, d, name, broker, catalog, load, partitions=4, n=10000):
    topic = f"orders_{name.replace('-', '_')}"
    log = f"{d}/{name}.log"
    produce(broker, topic, partitions, n)
    cfg = config(f"{d}/{name}.yaml", name, broker, topic, catalog)
    validate = subprocess.run([floe, "validate", cfg], capture_output=True, text=True, timeout=120)
    if validate.returncode != 0:
        raise SystemExit(f"{name}: floe validate: {validate.stdout}{validate.stderr}")
    for seconds in (1.5, 8.0, 9.5):  # a dead member holds the group up for its session, 6 s
        kill_while_running(floe, cfg, log, seconds)
    code = run(floe, cfg, log)
    if code != 0:
        sys.stderr.write(open(log, errors="replace").read()[-6000:])
        raise SystemExit(f"{name}: floe run --until-caught-up ended with {code}")
    check(name, load(f"db.{topic}"), partitions, n)
    # Once more with more records behind an aborted tail: it goes on where it was.
    produce(broker, topic, partitions, 1000, first=n)
    if run(floe, cfg, log) != 0:
        raise SystemExit(f"{name}: the second run failed")
    check(name + " (more)", load(f"db.{topic}"), partitions, n + 1000)


def main():
    a = argparse.ArgumentParser()
    for k in ("floe", "kafka", "rest", "log4j", "dir"):
        a.add_argument("--" + k, required=True)
    a.add_argument("--only", default="sqlite,postgres,rest-s3")
    o = a.parse_args()
    from pyiceberg.catalog.rest import RestCatalog
    from pyiceberg.catalog.sql import SqlCatalog
    d = o.dir
    only = o.only.split(",")
    try:
        broker = kafka(o.kafka, o.log4j, d)
        print("Kafka is ready", flush=True)
        go_test("./source/kafka", "TestConformanceOnARealBroker", FLOE_TEST_KAFKA=broker)
        if "sqlite" in only:
            wh = f"file://{d}/wh"
            scenario(o.floe, d, "sqlite", broker, {"type": "sqlite", "uri": f"{d}/catalog.db", "warehouse": wh},
                     lambda t: SqlCatalog("default", uri=f"sqlite:///{d}/catalog.db", warehouse=wh).load_table(t))
        if "postgres" in only:
            port = postgres(d)
            go_test("./internal/catalogs", "TestPostgresCatalog",
                    FLOE_TEST_POSTGRES=f"postgres://floe:s3cret%2Fword@127.0.0.1:{port}/postgres?sslmode=disable")
            wh = f"file://{d}/pgwh"
            scenario(o.floe, d, "postgres", broker,
                     {"type": "postgres", "uri": f"postgres://floe:s3cret%2Fword@127.0.0.1:{port}/postgres?sslmode=disable",
                      "warehouse": wh},
                     lambda t: SqlCatalog("default", uri=f"postgresql+psycopg2://floe:s3cret%2Fword@127.0.0.1:{port}/postgres",
                                          warehouse=wh).load_table(t))
        if "rest-s3" in only:
            s3url = s3(d)
            go_test("./wal", "TestTheWALOnS3", FLOE_TEST_S3=s3url)
            url = rest(o.rest, d, s3url)
            keys = {"s3.endpoint": s3url, "s3.access-key-id": "test", "s3.secret-access-key": "test", "s3.region": "us-east-1"}
            scenario(o.floe, d, "rest-s3", broker, {"type": "rest", "uri": url, **keys},
                     lambda t: RestCatalog("floe", uri=url, **keys).load_table(t))
        print("real services: ok", flush=True)
    finally:
        stop_all()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    main()
