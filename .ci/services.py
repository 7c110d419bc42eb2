"""floe against real services, each started by servers.py and ended by its id.

Records are produced with transactions, some of them aborted; floe is killed with SIGKILL while it works and started again;
then every row of the table, read by PyIceberg, is compared with what was produced.
"""

import argparse
import collections
import json
import os
import signal
import subprocess
import sys
import time

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from servers import kafka, postgres, postgres_uri, rest, s3, s3_keys, started, stop_all, tidy_on_signals

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
            go_test("./internal/catalogs", "TestPostgresCatalog", FLOE_TEST_POSTGRES=postgres_uri(port))
            wh = f"file://{d}/pgwh"
            scenario(o.floe, d, "postgres", broker,
                     {"type": "postgres", "uri": postgres_uri(port), "warehouse": wh},
                     lambda t: SqlCatalog("default", uri=postgres_uri(port, "postgresql+psycopg2", ""),
                                          warehouse=wh).load_table(t))
        if "rest-s3" in only:
            s3url = s3(d)
            go_test("./wal", "TestTheWALOnS3", FLOE_TEST_S3=s3url)
            url = rest(o.rest, d, s3url)
            keys = s3_keys(s3url)
            scenario(o.floe, d, "rest-s3", broker, {"type": "rest", "uri": url, **keys},
                     lambda t: RestCatalog("floe", uri=url, **keys).load_table(t))
        print("real services: ok", flush=True)
    finally:
        stop_all()


if __name__ == "__main__":
    tidy_on_signals()
    main()
